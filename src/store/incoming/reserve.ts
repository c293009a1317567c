/**
 * Space is reserved before an answer is requested, so that profiles that are already paid for can be put aside even
 * if the disk or the quota fills up. The answer is written over the reserve, which needs no new space on file systems
 * that write in place (ext4, xfs, FAT, NTFS). Others (btrfs, ZFS, APFS) need the space first: there, the reserve is
 * removed and the answer is written anew.
 */
import {
  closeSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errnoOf, Failure, reasonOf } from '../../failure.ts'
import { fileRights, tryToRemove } from '../directory-entries.ts'
import { flushDirectory, flushFile, writeFlushed } from '../flush/flush.ts'
import { patiently } from '../patience.ts'
import {
  ANSWER,
  answerPath,
  BYTES_RESERVED,
  DAMAGED,
  END,
  formatAnswer,
  INCOMING,
  incomingPath,
  newAnswerName,
  RESERVE,
  type StoredProfile,
  toReserve,
} from './answers.ts'
import { makeIncoming, type Target, writeIncoming } from './target-directory.ts'

/** The space of a removed reserve may not be available at once. */
const FULL = ['ENOSPC', 'EDQUOT']
const TRIES = 5
const PAUSE_MS = 1000

/**
 * @returns the name of the answer, without a suffix
 * @throws {Failure} `disk`
 */
export async function reserve(target: Target, profiles: number): Promise<string> {
  const answer = newAnswerName()
  try {
    await writeIncoming(target, answer + RESERVE, toReserve(profiles * BYTES_RESERVED))
    return answer
  } catch (error) {
    release(target, answer)
    const facts = { kind: 'no-reserve', count: profiles } as const
    throw new Failure(facts, `can't reserve disk space in ${target.directory}: ${reasonOf(error)}`, error)
  }
}

export function release({ directory }: Target, answer: string): void {
  tryToRemove(incomingPath(directory, answer + RESERVE))
  removeAnswer(directory, answer)
}

/** Removes an answer and what is left of its way out. */
export function removeAnswer(directory: string, answer: string): void {
  removeAll(incomingPath(directory, answer + ANSWER))
}

/** Removes a directory with files in it. What stays is rubbish. */
export function removeAll(place: string): void {
  try {
    for (const name of readdirSync(place)) tryToRemove(join(place, name))
    rmdirSync(place)
  } catch {}
}

/**
 * Uses the reserved space, or any free space.
 * @throws the system error; nothing of the answer is left then
 */
export async function putAside(
  target: Target,
  answer: string,
  profiles: readonly StoredProfile[],
): Promise<void> {
  const text = formatAnswer(profiles)
  const place = join(target.directory, INCOMING)
  try {
    makeIncoming(target, answer + ANSWER)
    await writeOver(target, answer, text)
    await flushDirectory(place)
    return
  } catch {
    release(target, answer)
  }
  for (let tries = TRIES; ; tries--) {
    try {
      makeIncoming(target, answer + ANSWER)
      await writeFlushed(answerPath(target.directory, answer), Buffer.from(text), fileRights(target.rights))
      await flushDirectory(incomingPath(target.directory, answer + ANSWER))
      await flushDirectory(place)
      return
    } catch (error) {
      // Profiles that are reported as lost must not reappear later, because the user may have requested them again.
      release(target, answer)
      if (tries <= 1 || !FULL.includes(errnoOf(error) ?? '')) throw error
      await sleep(PAUSE_MS)
    }
  }
}

/** The rename comes first, so that a crash leaves what is written to the next call. */
async function writeOver({ directory }: Target, answer: string, text: string): Promise<void> {
  const path = answerPath(directory, answer)
  patiently(() => renameSync(incomingPath(directory, answer + RESERVE), path))
  // On FAT, both names may be on the disk until these flushes, for the same clusters.
  await flushDirectory(incomingPath(directory, answer + ANSWER))
  await flushDirectory(join(directory, INCOMING))
  const file = patiently(() => openSync(path, 'r+'))
  try {
    writeFileSync(file, text + END)
    ftruncateSync(file, Buffer.byteLength(text))
    await flushFile(file)
  } finally {
    closeSync(file)
  }
  // A call that was paused for long has been taken for dead: another one has removed what it found.
  lstatSync(path)
}

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
