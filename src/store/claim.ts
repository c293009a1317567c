import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
} from 'node:fs'
import { join } from 'node:path'
import { errnoOf, Failure, reasonOf } from '../errors.ts'
import { spellings, type Unused, unusedOf, usedName } from './names.ts'

/** A profile file holds one RSA ciphertext: 16384-bit keys and some unknown fields fit many times over. */
const LARGEST_FILE = 64 * 1024

/** Neither follows a link out of the directory nor waits for a pipe that has a profile's name. */
const READ_SAFELY = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/**
 * Looks at all names of a directory.
 * @throws {Failure} `no-profiles` where there is no such directory, `disk` where it cannot be read
 */
export function readUnused(directory: string): Unused {
  try {
    return unusedOf(readdirSync(directory))
  } catch (error) {
    const code = errnoOf(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      throw new Failure('no-profiles', `there is no directory ${directory}`, {
        hint: 'is -i right, and is it mounted? softsim fetch makes it',
        cause: error,
      })
    }
    throw new Failure('disk', `can't read the directory ${directory}: ${reasonOf(error)}`, { cause: error })
  }
}

/** A profile file that can't be read; its message is what to tell of it. */
export class Unreadable extends Error {}

/**
 * The text of a profile's file.
 * @returns undefined where there is none of that name: another process may have claimed it meanwhile
 * @throws {Unreadable}
 */
export function readProfile(directory: string, name: string): string | undefined {
  const path = join(directory, name)
  let file: number | undefined
  try {
    file = openSync(path, READ_SAFELY)
    const status = fstatSync(file)
    if (!status.isFile()) throw new Unreadable('it is no regular file')
    if (status.size > LARGEST_FILE) throw new Unreadable(`it has ${status.size} bytes, more than any profile`)
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Unreadable) throw error
    if (errnoOf(error) === 'ENOENT' && !isLink(path)) return undefined
    throw new Unreadable(`it can't be read: ${reasonOf(error)}`, { cause: error })
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

/**
 * Claims an unused profile by renaming its file. Of any number of processes that try, one succeeds: the file can
 * be renamed away from its name only once. The claim is durable when the directory has been flushed.
 * @returns false where another process was first
 * @throws {Failure} `disk`
 */
export function claim(directory: string, name: string): boolean {
  try {
    // rename would overwrite a used profile, and hand its identity out again.
    if (isUsed(directory, name)) return false
    renamePatiently(join(directory, name), join(directory, usedName(name)))
    return true
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false
    throw new Failure('disk', `can't mark ${name} used: ${reasonOf(error)}`, {
      hint: 'this user needs the right to rename files in the directory; nothing was claimed',
      cause: error,
    })
  }
}

/**
 * Takes back a claim of this process that nothing has come of.
 * @throws the system error
 */
export function unclaim(directory: string, name: string): void {
  renamePatiently(join(directory, usedName(name)), join(directory, name))
}

/** Whether a profile is used, in any spelling of its name. */
export function isUsed(directory: string, name: string): boolean {
  return spellings(name).some((each) => exists(join(directory, usedName(each))))
}

const isLink = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false

const exists = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined

const BUSY = ['EACCES', 'EBUSY', 'EPERM']
const BUSY_TRIES = process.platform === 'win32' ? 50 : 0
const BUSY_PAUSE_MS = 20

/** On Windows a virus scanner may hold a file for a moment, and renaming it fails meanwhile. */
function renamePatiently(from: string, to: string): void {
  for (let tries = BUSY_TRIES; ; tries--) {
    try {
      renameSync(from, to)
      return
    } catch (error) {
      if (tries <= 0 || !BUSY.includes(errnoOf(error) ?? '')) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_PAUSE_MS)
    }
  }
}
