import { join } from 'node:path'
import { flushDirectory } from '../flush/directory.ts'
import { DAMAGED, INCOMING, incomingPath, newAnswerName } from './answers.ts'
import { type Target, writeIncoming } from './target.ts'

/**
 * Keeps what the service has sent and nothing here can store, so that a person can look at it: its profiles are paid
 * for. No call touches the file again.
 * @param bytes the answer as it came
 * @returns the path of the file
 * @throws the system error
 */
export async function putAsideUnread(target: Target, bytes: Uint8Array): Promise<string> {
  const name = newAnswerName() + DAMAGED
  await writeIncoming(target, name, bytes)
  await flushDirectory(join(target.directory, INCOMING))
  return incomingPath(target.directory, name)
}
