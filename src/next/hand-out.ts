import { fstat } from 'node:fs'
import { reasonOf } from '../failure.ts'
import { THREADS } from '../profile/decrypt.ts'
import { hasIncoming } from '../store/incoming/answers.ts'
import { openDirectory } from '../store/read.ts'
import { type Messages, several } from '../words.ts'
import { takeByIccid } from './by-iccid.ts'
import { deliver, usedPath } from './deliver.ts'
import { readKey } from './key-file.ts'
import type { Source } from './ready.ts'
import { take } from './take.ts'

export type { Format } from './ready.ts'

export interface Handout extends Omit<Source, 'key'> {
  readonly keyPath: string
  readonly passphrase: string | undefined
  /** 1 if `iccid` is given. */
  readonly count: number
  /** Take this profile, used or not. If undefined, take the next ones. */
  readonly iccid: string | undefined
}

/**
 * Claims profiles, makes the claims durable, and only then prints the profiles, one per line.
 * @throws {Failure} after printing nothing, or with the names of the profiles that were claimed but not delivered
 */
export async function handOut(handout: Handout): Promise<void> {
  const { directory, count, iccid, messages } = handout
  const source = { ...handout, key: readKey(handout.keyPath, handout.passphrase) }
  startThreads(count)
  if (hasIncoming(directory)) await tryToFinishFetches(directory, messages)
  const opened = openDirectory(directory)
  if (iccid !== undefined) {
    await deliver([await takeByIccid(source, iccid)], opened, source)
    return
  }
  const { taken, left } = await take(source, count)
  await deliver(taken, opened, source)
  for (const each of taken) messages.tell(1, `handed out ${each.iccid}, now ${usedPath(directory, each)}`)
  messages.tell(
    1,
    left === 0
      ? `no other known unused profile in ${directory}`
      : `at most ${several(left, 'unused profile')} left in ${directory}`,
  )
}

/** libuv ends the process if it can't start its threads. Force that to happen before anything is claimed. */
function startThreads(count: number): void {
  // libuv reads this when it first needs a thread. Several profiles are decrypted on all cores.
  if (count > 1) process.env['UV_THREADPOOL_SIZE'] ??= String(THREADS)
  fstat(0, () => {})
}

/** Profiles that an interrupted fetch received but did not store are unused profiles too. */
async function tryToFinishFetches(directory: string, messages: Messages): Promise<void> {
  try {
    const { finishFetches } = await import('../store/incoming/recover.ts')
    await finishFetches(directory, messages)
  } catch (error) {
    messages.warn(`profiles that an interrupted fetch received can't be stored: ${reasonOf(error)}`)
  }
}
