import { mkdir, rmdir, stat, statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Failure, reasonOf } from '../errors.ts'
import { flushDirectory } from './flush.ts'
import { Hint } from './hint.ts'
import { INCOMING } from './incoming.ts'

/** What a profile takes on disk at most, put aside and on its way: a block or two each. */
const BYTES_A_PROFILE = 16 * 1024

/** A directory that profiles are added to. */
export interface Target {
  readonly directory: string
  /** The directory's rights, without other users': what is made in it gets the same. */
  readonly mode: number
}

/**
 * Makes the directory, private to the user, where it is missing, and durable.
 * @throws {Failure} `disk`
 */
export async function openTarget(directory: string): Promise<Target> {
  try {
    const made = await mkdir(directory, { recursive: true, mode: 0o700 })
    if (made !== undefined) await flushAbove(resolve(directory), resolve(made))
    const { mode } = await stat(directory)
    return { directory, mode: mode & 0o770 }
  } catch (error) {
    throw new Failure('disk', `can't make the directory ${directory}: ${reasonOf(error)}`, { cause: error })
  }
}

/** Makes the names of new directories durable: from the last one up to the first that was made. */
async function flushAbove(path: string, first: string): Promise<void> {
  await flushDirectory(dirname(path))
  if (path !== first && path.startsWith(first)) await flushAbove(dirname(path), first)
}

/**
 * Makes sure that there is room before profiles are paid for.
 * @throws {Failure} `disk`
 */
export async function checkRoom({ directory }: Target, profiles: number): Promise<void> {
  // Some network file systems don't know; then the attempt tells.
  const { bavail, bsize, files, ffree } = await statfs(directory).catch(() => ({
    bavail: 0,
    bsize: 0,
    files: 0,
    ffree: 0,
  }))
  const isFull = bsize > 0 && bavail * bsize < profiles * BYTES_A_PROFILE
  if (!isFull && !(files > 0 && ffree < profiles)) return
  throw new Failure('disk', `there is no room for ${profiles} more profiles in ${directory}`, {
    hint: 'make room, or fetch fewer; these have not been asked for',
  })
}

/** Tidies up after profiles were added. What is still put aside stays. */
export async function closeTarget({ directory }: Target): Promise<void> {
  Hint.drop(directory)
  await rmdir(join(directory, INCOMING)).catch(() => {})
}
