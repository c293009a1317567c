import {
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  rmdirSync,
  rmSync,
  type StatsFs,
  statfsSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errnoOf, Failure, reasonOf } from '../../failure.ts'
import { flushDirectory, flushDirectorySync } from '../flush.ts'
import { fileRights, rightsOf } from '../rights.ts'
import { FETCH_MARK, INCOMING, incomingPath, newAnswerName } from './answers.ts'
import { isDirectory, makeDirectory } from './make-directory.ts'

/** What a profile takes on disk at most, put aside and on its way: a block or two each. */
const BYTES_A_PROFILE = 16 * 1024

/** Some file systems that know no number of files say that of about a billion none is free. */
const MADE_UP_FILES = 900_000_000

/** A fetch that ends removes the empty place for what is put aside; one that begins makes it again, so often. */
const TRIES = 30
const PAUSE_MS = 1000

/** A directory that profiles are added to. */
export interface Target {
  readonly directory: string
  /** Of what is made in it. */
  readonly rights: number
  /** The file that says a fetch is at work here. */
  readonly mark?: string
}

/** One that a fetch works on. */
export interface OpenTarget extends Target {
  readonly mark: string
  /** Whether the file system can flush a directory: without that a power cut may undo what is stored. */
  readonly canFlush: boolean
}

/**
 * A directory that is there.
 * @throws the system error
 */
export function targetOf(directory: string): Target {
  return { directory, rights: rightsOf(directory) }
}

/**
 * Makes the directory, private to the user, where it is missing, and makes sure that files can be put aside in it:
 * before profiles are paid for. A mark stays there until `closeTarget`, so that no other fetch takes the place away.
 * @throws {Failure} `disk`
 */
export async function openTarget(directory: string): Promise<OpenTarget> {
  try {
    await makeDirectory(directory)
    return await markTarget(targetOf(directory))
  } catch (error) {
    throw new Failure('disk', `can't write in the directory ${directory}: ${reasonOf(error)}`, {
      hint: 'no profile has been asked for; -o names a directory that this user may write in',
      cause: error,
    })
  }
}

async function markTarget(target: Target): Promise<OpenTarget> {
  const mark = newAnswerName() + FETCH_MARK
  try {
    closeSync(await createIncoming(target, mark))
    // Also where another call has made the place: it may have been killed before this. From the mark on it stays.
    return { ...target, mark, canFlush: await flushDirectory(target.directory) }
  } catch (error) {
    closeTarget({ ...target, mark })
    throw error
  }
}

/**
 * Makes a new file in the place for what is put aside, and that place where it is missing.
 * @returns the open file
 * @throws the system error
 */
export async function createIncoming(target: Target, name: string): Promise<number> {
  const { directory, rights } = target
  for (let tries = TRIES; ; tries--) {
    await makePlace(target)
    try {
      return openSync(incomingPath(directory, name), 'wx', fileRights(rights))
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT' || tries <= 0) throw error
      // A network file system may believe for a while that the place is still there.
      if (tries < TRIES) await sleep(PAUSE_MS)
    }
  }
}

async function makePlace({ directory, rights, mark }: Target): Promise<void> {
  const place = join(directory, INCOMING)
  const isNew = makeOne(place, rights)
  // Before there is a mark, others may still take it away: it is flushed afterwards.
  if (isNew && mark !== undefined) await flushDirectory(directory)
  // A link would lead out of the directory.
  if (isOther(place)) throw new Error(`${place} is no directory`)
}

/** @returns false where it is there already, or seems to be */
function makeOne(path: string, rights: number): boolean {
  try {
    mkdirSync(path, { mode: rights })
    return true
  } catch (error) {
    if (errnoOf(error) === 'EEXIST' || isDirectory(path)) return false
    throw error
  }
}

/** Tidies up after profiles were added. What is still put aside stays. */
export function closeTarget({ directory, mark }: Target): void {
  try {
    if (mark !== undefined) rmSync(incomingPath(directory, mark), { force: true })
  } catch {}
  try {
    rmdirSync(join(directory, INCOMING))
    flushDirectorySync(directory)
  } catch {}
}

/**
 * Makes sure that there is room before profiles are paid for.
 * @throws {Failure} `disk`
 */
export function checkRoom({ directory }: Target, profiles: number): void {
  if (hasRoom(statusOf(directory), profiles)) return
  throw new Failure('disk', `there is no room for ${profiles} more profiles in ${directory}`, {
    hint: 'make room, or fetch fewer; these have not been asked for',
  })
}

/** What a file system says of itself; undefined where it can't. */
function statusOf(directory: string): StatsFs | undefined {
  try {
    return statfsSync(directory)
  } catch {
    return undefined
  }
}

/** Whether so many profiles fit. Where the file system says nothing sensible, the attempt will tell. */
export function hasRoom(status: StatsFs | undefined, profiles: number): boolean {
  if (status === undefined) return true
  const { bavail, blocks, bsize, ffree, files } = status
  if (blocks > 0 && bsize > 0 && bavail * bsize < profiles * BYTES_A_PROFILE) return false
  const isMadeUp = files === 0 || (ffree === 0 && files >= MADE_UP_FILES)
  return isMadeUp || ffree >= profiles
}

const isOther = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === false
