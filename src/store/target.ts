import { closeSync, lstatSync, mkdirSync, openSync, rmdirSync, rmSync, statfsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errnoOf, Failure, reasonOf } from '../errors.ts'
import { flushDirectory } from './flush.ts'
import { Hint } from './hint.ts'
import { asidePath, INCOMING, MARK, newAside } from './incoming.ts'

/** What a profile takes on disk at most, put aside and on its way: a block or two each. */
const BYTES_A_PROFILE = 16 * 1024

/** A fetch that ends removes the empty place for what is put aside; one that begins makes it again, so often. */
const TRIES = 30
const PAUSE_MS = 1000

/** A directory that profiles are added to. */
export interface Target {
  readonly directory: string
  /** The directory's rights, without other users': files made in it get the same. */
  readonly mode: number
  /** The file that says a fetch is at work here. */
  readonly mark?: string
}

/**
 * A directory that is there. From now on this process has no umask: another user of a shared directory must be able to
 * work with what is made in it.
 * @throws the system error
 */
export function targetOf(directory: string): Target {
  process.umask(0)
  return { directory, mode: statSync(directory).mode & 0o770 }
}

/**
 * Makes the directory, private to the user, where it is missing, and makes sure that files can be put aside in it:
 * before profiles are paid for. A mark stays there until `closeTarget`, so that no other fetch takes the place away.
 * @throws {Failure} `disk`
 */
export async function openTarget(directory: string): Promise<Target> {
  try {
    await makeDirectory(directory)
    const target = targetOf(directory)
    const mark = newAside() + MARK
    closeSync(await createAside(target, mark))
    // Also where another call has made the place: it may have been killed before this. From the mark on it stays.
    await flushDirectory(directory)
    return { ...target, mark }
  } catch (error) {
    throw new Failure('disk', `can't write in the directory ${directory}: ${reasonOf(error)}`, {
      hint: 'no profile has been asked for; -o names a directory that this user may write in',
      cause: error,
    })
  }
}

/**
 * Makes a new file in the place for what is put aside, and that place where it is missing.
 * @returns the open file
 * @throws the system error
 */
export async function createAside(target: Target, name: string): Promise<number> {
  const { directory, mode } = target
  for (let tries = TRIES; ; tries--) {
    try {
      await makePlace(target)
      return openSync(asidePath(directory, name), 'wx', mode & 0o660)
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT' || tries <= 0) throw error
      // A network file system may believe for a while that the place is still there.
      if (tries < TRIES) await sleep(PAUSE_MS)
    }
  }
}

async function makePlace({ directory, mode, mark }: Target): Promise<void> {
  const place = join(directory, INCOMING)
  const isNew = mkdirSync(place, { recursive: true, mode }) !== undefined
  // Before there is a mark, openTarget does it.
  if (isNew && mark !== undefined) await flushDirectory(directory)
  // A link would lead out of the directory.
  if (isOther(place)) throw new Error(`${place} is no directory`)
}

/** Tidies up after profiles were added. What is still put aside stays. */
export function closeTarget({ directory, mark }: Target): void {
  Hint.drop(directory)
  try {
    if (mark !== undefined) rmSync(asidePath(directory, mark), { force: true })
  } catch {}
  try {
    rmdirSync(join(directory, INCOMING))
  } catch {}
}

/**
 * Makes sure that there is room before profiles are paid for.
 * @throws {Failure} `disk`
 */
export function checkRoom({ directory }: Target, profiles: number): void {
  const { bavail, bsize, files, ffree } = statfsSync(directory)
  // Some network file systems tell nothing: there the attempt will.
  const isFull = bsize > 0 && bavail * bsize < profiles * BYTES_A_PROFILE
  if (!isFull && !(files > 0 && ffree < profiles)) return
  throw new Failure('disk', `there is no room for ${profiles} more profiles in ${directory}`, {
    hint: 'make room, or fetch fewer; these have not been asked for',
  })
}

/** Directory by directory: Node's own way does not come back from some that can't be made, and tells a wrong reason. */
async function makeDirectory(path: string): Promise<void> {
  const above = dirname(path)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' && !isDirectory(above)) {
      await makeDirectory(above)
      return makeDirectory(path)
    }
    if (isOther(path)) throw new Error('it is no directory')
    if (!isDirectory(path)) throw error
  }
  // Also where it is there already: the call that made it may have been killed before this.
  for (const place of [above, dirname(above)]) await flushDirectory(place).catch(() => {})
}

const isOther = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === false

const isDirectory = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
