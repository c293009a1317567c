import { closeSync, lstatSync, mkdirSync, openSync, rmdirSync, type StatsFs, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errnoOf, Failure, reasonOf } from '../../failure.ts'
import { several } from '../../words.ts'
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
  /** Whether any name in it has a filler. If none has, there is one way only to spell an ICCID. */
  hasFillers?: boolean
  readonly whole?: WholeFlush
  /** Whether the file system has hard links. Decided once, with the first answer. */
  hasLinks?: boolean
}

export interface OpenTarget extends Target {
  readonly mark: string
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
    await makeDirectory(directory)
    const target = targetOf(directory)
    return await markTarget({
      ...target,
      hasFillers: hasFillers(directory),
      whole: new WholeFlush(directory),
    })
  } catch (error) {
    throw new Failure('disk', `can't write to the directory ${directory}: ${reasonOf(error)}`, {
      hint: 'use -o to name a directory that this user can write to; no profiles were requested',
      cause: error,
    })
  }
}

async function markTarget(target: Target): Promise<OpenTarget> {
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

/** Answers that are still put aside stay. */
export function closeTarget({ directory, mark }: Target): void {
  try {
    if (mark !== undefined) patiently(() => removeIfThere(incomingPath(directory, mark)))
  } catch {}
  try {
    rmdirSync(join(directory, INCOMING))
    flushDirectorySync(directory)
  } catch {}
}

/** @throws {Failure} `disk` */
export function checkRoom({ directory }: Target, profiles: number): void {
  if (hasRoom(statusOf(directory), profiles)) return
  throw new Failure(
    'disk',
    `not enough disk space for ${several(profiles, 'more profile')} in ${directory}`,
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

/** If the file system reports nothing plausible, writing will tell. */
export function hasRoom(status: StatsFs | undefined, profiles: number): boolean {
  if (status === undefined) return true
  const { bavail, blocks, bsize, ffree, files } = status
  if (blocks > 0 && bsize > 0 && bavail * bsize < profiles * BYTES_A_PROFILE) return false
  const isMadeUp = files === 0 || (ffree === 0 && files >= MADE_UP_FILES)
  return isMadeUp || ffree >= profiles
}

const isOther = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === false
