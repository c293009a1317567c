/**
 * Room on the disk for an answer, taken before the answer is asked for: what was paid for can then be put aside,
 * whatever fills the disk or the quota meanwhile. The answer is written over the reserve, which takes no new room on
 * file systems that write in place (ext4, xfs, FAT, NTFS). Those that write everything elsewhere (btrfs, ZFS, APFS)
 * need the room first: there the reserve is removed, and the answer written anew.
 */
import { closeSync, ftruncateSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errnoOf, Failure, reasonOf } from '../../failure.ts'
import { several } from '../../words.ts'
import { flushDirectory, flushFile } from '../flush.ts'
import {
  ANSWER,
  END,
  formatAnswer,
  INCOMING,
  incomingPath,
  newAnswerName,
  RESERVE,
  type StoredProfile,
  toReserve,
} from './answers.ts'
import { createIncoming, type Target } from './target.ts'

/** Of a profile that is put aside: enough for a key of 8192 bits. */
const BYTES_A_PROFILE = 1536

/** The room of a removed reserve may not be there at once. */
const FULL = ['ENOSPC', 'EDQUOT']
const TRIES = 5
const PAUSE_MS = 1000

/**
 * Takes the room for an answer.
 * @returns the name to put it aside under, without its ending
 * @throws {Failure} `disk`
 */
export async function reserve(target: Target, profiles: number): Promise<string> {
  const aside = newAnswerName()
  try {
    await write(target, aside + RESERVE, toReserve(profiles * BYTES_A_PROFILE))
    return aside
  } catch (error) {
    release(target, aside)
    throw new Failure('disk', `can't keep room in ${target.directory}: ${reasonOf(error)}`, {
      hint: `make room or repair the disk; ${several(profiles, 'profile')} that it was for are not asked for`,
      cause: error,
    })
  }
}

/** Gives the room of an answer back, whatever is in it. */
export function release({ directory }: Target, aside: string): void {
  for (const ending of [RESERVE, ANSWER]) {
    try {
      rmSync(incomingPath(directory, aside + ending), { force: true })
    } catch {}
  }
}

/**
 * Puts an answer aside, durably, in the room that was taken for it, or where there is any.
 * @throws the system error; nothing of it is left then
 */
export async function putAside(
  target: Target,
  aside: string,
  profiles: readonly StoredProfile[],
): Promise<void> {
  const text = formatAnswer(profiles)
  const place = join(target.directory, INCOMING)
  try {
    await writeOver(target, aside, text)
    await flushDirectory(place)
    return
  } catch {
    release(target, aside)
  }
  for (let tries = TRIES; ; tries--) {
    try {
      await write(target, aside + ANSWER, text)
      await flushDirectory(place)
      return
    } catch (error) {
      // What is told to be lost must not turn up later: somebody may have asked for it again.
      release(target, aside)
      if (tries <= 1 || !FULL.includes(errnoOf(error) ?? '')) throw error
      await sleep(PAUSE_MS)
    }
  }
}

/** It gets its new name first: from the first byte on, a crash leaves what there is of the answer to the next call. */
async function writeOver({ directory }: Target, aside: string, text: string): Promise<void> {
  const path = incomingPath(directory, aside + ANSWER)
  renameSync(incomingPath(directory, aside + RESERVE), path)
  // On FAT both names may be on the disk until then, for the same clusters.
  await flushDirectory(join(directory, INCOMING))
  const file = openSync(path, 'r+')
  try {
    writeFileSync(file, text + END)
    ftruncateSync(file, Buffer.byteLength(text))
    await flushFile(file)
  } finally {
    closeSync(file)
  }
}

async function write(target: Target, name: string, content: string | Buffer): Promise<void> {
  const file = await createIncoming(target, name)
  try {
    writeFileSync(file, content)
    await flushFile(file)
  } finally {
    closeSync(file)
  }
}
