import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readdirSync,
  readFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { errnoOf, Failure, type Fault, reasonOf, UnusableProfile } from '../failure.ts'
import { OpenDirectory } from './flush/flush.ts'
import { type Unused, unusedOf } from './listing.ts'
import { ENDING, hasFiller, isProfileName, USED } from './names.ts'
import { attempt, isHeld, patiently } from './patience.ts'

/** In bytes. Far more than a 16384-bit key and some unknown fields need. */
const LARGEST_PROFILE = 64 * 1024

/** The same with its device. Such a file is parsed and written again, which can make a number four times as long. */
const LARGEST_RECORD = 8 * LARGEST_PROFILE

/** Of the directories in one without profiles. */
const MOST_LOOKED_INTO = 20

/** Does not follow a link out of the directory, nor wait for a pipe with the name of a profile. */
export const READ_SAFELY = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** Errors that say what a file is. All others say that it can't be read now. */
const NO_FILE = ['EISDIR', 'ELOOP', 'ENOENT', 'ENXIO']

/** @throws {Failure} `no-profiles` if there is no such directory, `disk` if it can't be read */
export const readUnused = (directory: string): Unused =>
  looking(directory, () => unusedOf(namesOf(directory)))

/**
 * The names of the used files of a directory, sorted.
 * @throws {Failure} as `readUnused`
 */
export const readUsed = (directory: string): string[] =>
  looking(directory, () =>
    [...namesOf(directory)].filter((name) => name.startsWith(USED) && name.endsWith(ENDING)).sort(),
  )

/** @throws {Failure} as `readUnused` */
export const checkDirectory = (directory: string): void =>
  looking(directory, () => opendirSync(directory).closeSync())

/** @throws {Failure} as `readUnused` */
export const openDirectory = (directory: string): OpenDirectory =>
  looking(directory, () => new OpenDirectory(directory))

/**
 * Does something with a directory of profiles.
 * @throws {Failure} `no-profiles` if there is no such directory, `disk` if it can't be read
 */
export function looking<T>(directory: string, look: () => T): T {
  try {
    return look()
  } catch (error) {
    throw error instanceof Failure ? error : directoryFailure(directory, error)
  }
}

/** Whether the name of any profile in a directory has a filler. If the directory can't be read, some may. */
export const hasFillers = (directory: string): boolean => attempt(() => isAnyIn(directory, hasFiller)) ?? true

/** Some at a time: a list of a million names would take a hundred megabytes. */
export function* namesOf(directory: string): Generator<string> {
  const opened = opendirSync(directory)
  try {
    for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) yield entry.name
  } finally {
    opened.closeSync()
  }
}

/** Why a directory can't be read: `no-profiles` if there is none, `disk` otherwise. */
export function directoryFailure(directory: string, error: unknown): Failure {
  const code = errnoOf(error)
  if (code === 'ENOTDIR') return new Failure('not-a-directory', `${directory} is not a directory`, error)
  if (code === 'ENOENT')
    return new Failure({ kind: 'no-directory', directory }, `directory ${directory} does not exist`, error)
  return new Failure('unread-directory', `can't read the directory ${directory}: ${reasonOf(error)}`, error)
}

/** Why no profile is unused, if so many are used, or moved. Without any, the profiles may be one level below. */
export const whyNone = (directory: string, used: number, isAnyMoved: boolean) =>
  used > 0
    ? isAnyMoved
      ? 'all-moved'
      : 'all-used'
    : ({ kind: 'no-profiles', below: lotIn(directory) } as const)

const lotIn = (directory: string): string | undefined =>
  attempt(() =>
    readdirSync(directory, { withFileTypes: true })
      .filter((each) => each.isDirectory() && !each.name.startsWith('.'))
      .slice(0, MOST_LOOKED_INTO)
      .map(({ name }) => join(directory, name))
      .find((lot) => hasProfiles(lot, false)),
  )

/** Whether a directory can be read and has any profiles, used or unused. */
export const hasProfiles = (directory: string, areUsed: boolean): boolean =>
  attempt(() => isAnyIn(directory, (name) => isProfileName(name) && name.startsWith(USED) === areUsed)) ??
  false

function isAnyIn(directory: string, isMeant: (name: string) => boolean): boolean {
  for (const name of namesOf(directory)) if (isMeant(name)) return true
  return false
}

/**
 * @param most in bytes
 * @returns undefined if it does not exist: another process may have claimed it in the meantime
 * @throws {UnusableProfile}
 */
export function readProfile(directory: string, name: string, most?: number): string | undefined {
  const path = join(directory, name)
  try {
    return patiently(() => readRegular(path, most ?? (isUnused(name) ? LARGEST_PROFILE : LARGEST_RECORD)))
  } catch (error) {
    if (error instanceof UnusableProfile) throw error
    if (errnoOf(error) === 'ENOENT' && !attempt(() => lstatSync(path).isSymbolicLink())) return undefined
    throw new UnusableProfile(faultOf(error), `it can't be read: ${reasonOf(error)}`, { cause: error })
  }
}

function readRegular(path: string, most: number): string {
  const file = openSync(path, READ_SAFELY)
  try {
    const status = fstatSync(file)
    if (!status.isFile()) throw new UnusableProfile('damaged', 'it is not a regular file')
    if (status.size > most)
      throw new UnusableProfile('damaged', `it is too large for a profile (${status.size} bytes)`)
    // Some editors begin a file with a byte order mark.
    return readFileSync(file, 'utf8').replace(/^\ufeff/, '')
  } finally {
    closeSync(file)
  }
}

/**
 * The text of a file; empty if there is none, or if it is no profile.
 * @throws the system error
 */
export function textOf(directory: string, name: string): string {
  try {
    return readProfile(directory, name) ?? ''
  } catch (error) {
    if (error instanceof UnusableProfile) return ''
    throw error
  }
}

function faultOf(error: unknown): Fault {
  if (process.platform === 'win32' && isHeld(error)) return 'held'
  return NO_FILE.includes(errnoOf(error) ?? '') ? 'damaged' : 'unreadable'
}

/** Used files and the records of devices have other names. */
const isUnused = (name: string) => name.endsWith('.json') && !name.startsWith('__')
