import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Failure, reasonOf } from '../../failure.ts'
import { flushDirectory, writeFlushed } from '../flush.ts'
import { fileRights } from '../rights.ts'
import { ANSWER, INCOMING, incomingPath, newAnswerName, type StoredProfile } from './answers.ts'
import { type Added, publish } from './publish.ts'
import { putAside, release } from './reserve.ts'
import type { Target } from './target.ts'

/** The disk failed before all profiles of an answer had their names. */
export class NotAdded extends Failure {
  /** Those that have them. */
  readonly added: Added
  /** How many are put aside, for the next call to publish. */
  readonly aside: number
  /** How many are on no disk. */
  readonly lost: number

  constructor(
    message: string,
    details: { hint: string; cause: unknown; added?: Added; aside?: number; lost?: number },
  ) {
    super('disk', message, details)
    this.added = details.added ?? { stored: [], known: [] }
    this.aside = details.aside ?? 0
    this.lost = details.lost ?? 0
  }
}

/**
 * Adds the profiles of one answer. They are put aside first, all in one file, and flushed: from then on a crash loses
 * none of them. Then each is published under its own name, which never overwrites, and the file is removed.
 * @param aside the name that `reserve` gave, where it has taken the room for them
 * @throws {NotAdded} what was put aside is published by the next call of `fetch` or `next`
 */
export async function add(
  target: Target,
  profiles: readonly StoredProfile[],
  aside: string = newAnswerName(),
): Promise<Added> {
  if (profiles.length === 0) {
    release(target, aside)
    return { stored: [], known: [] }
  }
  try {
    await putAside(target, aside, profiles)
  } catch (error) {
    const iccids = profiles.map(({ iccid }) => iccid)
    throw new NotAdded(`received and can't be stored: ${iccids.join(' ')}: ${reasonOf(error)}`, {
      hint: 'make room or repair the disk; ask the service for these profiles, they are allocated and not stored',
      cause: error,
      lost: profiles.length,
    })
  }
  return publishAnswer(target, aside, profiles)
}

/**
 * Publishes what has been put aside, and removes it when all of it is durable.
 * @param kept where a copy of it is to stay
 * @throws {NotAdded}
 */
export async function publishAnswer(
  target: Target,
  aside: string,
  profiles: readonly StoredProfile[],
  kept?: string,
): Promise<Added> {
  const { directory } = target
  const path = incomingPath(directory, aside + ANSWER)
  const added: Added = { stored: [], known: [] }
  try {
    await publish(target, aside, profiles, added)
    await flushDirectory(directory)
    if (kept !== undefined) await writeFlushed(kept, readFileSync(path), fileRights(target.rights))
    rmSync(path, { force: true })
    // Where its room is used again while the disk still has its name, FAT would lose what is stored there.
    await flushDirectory(join(directory, INCOMING))
    return added
  } catch (error) {
    throw new NotAdded(`can't store profiles in ${directory}: ${reasonOf(error)}`, {
      hint: 'what was received is put aside there; the next call of fetch or next stores it',
      cause: error,
      added,
      aside: profiles.length - added.stored.length - added.known.length,
    })
  }
}
