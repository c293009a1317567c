import { closeSync, lstatSync, mkdirSync, openSync, rmdirSync, type StatsFs, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errnoOf, Failure, reasonOf, remedyFor } from '../../failure.ts'
import { fullPath, LEAVE } from '../../full-path.ts'
import { several, sizeOf } from '../../words.ts'
import { flushDirectory, flushDirectorySync } from '../flush/directory.ts'
import { WholeFlush } from '../flush/whole.ts'
import { patiently } from '../patience.ts'
import { hasFillers } from '../read.ts'
import { removeIfThere } from '../remove.ts'
import { fileRights, rightsOf } from '../rights.ts'
import { FETCH_MARK, INCOMING, incomingPath, newAnswerName } from './answers.ts'
import { isDirectory, makeDirectory } from './make-directory.ts'

/** Maximum size of a profile on disk, both put aside and published: one or two blocks each. */
const BYTES_A_PROFILE = 16 * 1024

/** What no file system needs less for. The text of a profile with a key of 4096 bits has 700 bytes. */
const LEAST_BYTES_A_PROFILE = 1024

/** Some file systems have no limit on files. They report about a billion files, none of them free. */
const MADE_UP_FILES = 900_000_000

/** A fetch removes the empty directory when it ends, and a starting fetch makes it again. */
const TRIES = 30
const PAUSE_MS = 1000

export interface Target {
  readonly directory: string
  /** Of what is made in it. */
  readonly rights: number
  readonly mark?: string
  readonly made?: readonly string[]
  /** Whether any name in it has a filler. If none has, there is one way only to spell an ICCID. */
  hasFillers?: boolean
  readonly whole?: WholeFlush
  /** Whether the file system has hard links. Decided once, with the first answer. */
  hasLinks?: boolean
}

export interface OpenTarget extends Target {
  readonly mark: string
  /** The directories that were made for it, the deepest first. */
  readonly made: readonly string[]
  /** Without directory flushes, a power cut may undo what is stored. */
  readonly canFlush: boolean
}

/** @throws the system error */
export function targetOf(directory: string): Target {
  return { directory, rights: rightsOf(directory) }
}

/**
 * Checks that files can be put aside, before profiles are paid for. A mark stays until `closeTarget`, so that no
 * other fetch removes the place.
 * @throws {Failure} `disk`
 */
export async function openTarget(directory: string): Promise<OpenTarget> {
  try {
    for (let tries = TRIES; ; tries--) {
      const made = await makeDirectory(directory)
      try {
        const [target, hasAny] = [targetOf(directory), hasFillers(directory)]
        return await markTarget({ ...target, made, hasFillers: hasAny, whole: new WholeFlush(directory) })
      } catch (error) {
        // A fetch that made the directory and stored nothing in it has removed it.
        if (errnoOf(error) !== 'ENOENT' || tries <= 0 || isDirectory(directory)) throw error
      }
    }
  } catch (error) {
    throw new Failure('disk', `can't write to the directory ${directory}: ${reasonOf(error)}`, {
      hint: `${fullPath(directory) === undefined ? LEAVE : remedyFor(error)}, or use -o to name another directory; no profiles were requested`,
      cause: error,
    })
  }
}

async function markTarget(target: Omit<OpenTarget, 'mark' | 'canFlush'>): Promise<OpenTarget> {
  const mark = newAnswerName() + FETCH_MARK
  try {
    closeSync(await createIncoming(target, mark))
    // Also if another call made the place: it may have been killed before this flush. The mark keeps the place from
    // now on.
    return { ...target, mark, canFlush: await flushDirectory(target.directory) }
  } catch (error) {
    closeTarget({ ...target, mark })
    throw error
  }
}

/**
 * Also makes the place for answers if it is missing.
 * @returns the open file
 * @throws the system error
 */
export async function createIncoming(target: Target, name: string): Promise<number> {
  const { directory, rights } = target
  for (let tries = TRIES; ; tries--) {
    await makePlace(target)
    try {
      return patiently(() => openSync(incomingPath(directory, name), 'wx', fileRights(rights)))
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT' || tries <= 0) throw error
      // A network file system may report for a while that the removed place still exists.
      if (tries < TRIES) await sleep(PAUSE_MS)
    }
  }
}

async function makePlace({ directory, rights, mark }: Target): Promise<void> {
  const place = join(directory, INCOMING)
  const isNew = makeOne(place, rights)
  // Without a mark, others may still remove the place. It is flushed later.
  if (isNew && mark !== undefined) await flushDirectory(directory)
  // A link would lead out of the directory.
  if (isOther(place)) throw new Error(`${place} is not a directory`)
}

/** @returns false if it already exists, or seems to */
function makeOne(path: string, rights: number): boolean {
  try {
    mkdirSync(path, { mode: rights })
    return true
  } catch (error) {
    if (errnoOf(error) === 'EEXIST' || isDirectory(path)) return false
    throw error
  }
}

/** Answers that are still put aside stay. Directories that were made for nothing are removed. */
export function closeTarget({ directory, mark, made = [] }: Target): void {
  try {
    if (mark !== undefined) patiently(() => removeIfThere(incomingPath(directory, mark)))
  } catch {}
  try {
    rmdirSync(join(directory, INCOMING))
    flushDirectorySync(directory)
    for (const each of made) rmdirSync(each)
  } catch {}
}

/**
 * Checks that there can be room for a whole order. How much it takes depends on the file system, so this is the least.
 * @throws {Failure} `disk`
 */
export function checkOrder({ directory }: Target, profiles: number): void {
  const shortage = shortageOf(statusOf(directory), profiles, LEAST_BYTES_A_PROFILE)
  if (shortage === undefined) return
  throw new Failure(
    'disk',
    `not enough disk space for ${several(profiles, 'profile')} in ${directory}: at least ${shortage}`,
    { hint: 'free disk space or fetch fewer; no profiles were requested' },
  )
}

/** @throws {Failure} `disk` */
export function checkRoom({ directory }: Target, profiles: number): void {
  const shortage = shortageOf(statusOf(directory), profiles, BYTES_A_PROFILE)
  if (shortage === undefined) return
  throw new Failure(
    'disk',
    `not enough disk space for ${several(profiles, 'more profile')} in ${directory}: ${shortage}`,
    {
      hint: 'free disk space or fetch fewer; these profiles were not requested',
    },
  )
}

function statusOf(directory: string): StatsFs | undefined {
  try {
    return statfsSync(directory)
  } catch {
    return undefined
  }
}

/** @returns undefined if there is room, or if the file system reports nothing plausible: then writing will tell */
export function shortageOf(
  status: StatsFs | undefined,
  profiles: number,
  bytesAProfile: number,
): string | undefined {
  if (status === undefined) return undefined
  const { bavail, blocks, bsize, ffree, files } = status
  const [needed, free] = [profiles * bytesAProfile, bavail * bsize]
  if (blocks > 0 && bsize > 0 && free < needed) return `${sizeOf(needed)} needed, ${sizeOf(free)} free`
  const isMadeUp = files === 0 || (ffree === 0 && files >= MADE_UP_FILES)
  return isMadeUp || ffree >= profiles ? undefined : `${several(profiles, 'file')} needed, ${ffree} free`
}

const isOther = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === false
