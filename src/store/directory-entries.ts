/** Looks at what is in a directory, makes and removes it, and compares directories. */
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  statSync,
  unlinkSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { Failure } from '../failure.ts'
import { pause } from '../pause.ts'
import { flushDirectorySync, isOnFuse, isTested } from './flush/flush.ts'
import { afresh, attempt, ifThere, patiently } from './patience.ts'

/** Also a broken link: nothing can be created there. Throws the system error if nobody can tell. */
export const exists = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined

/** Most of what is read here is not there, and an error takes eight times as long as a look (16 and 2 µs). */
const readIfSeen = <T>(path: string, read: () => T): T | undefined =>
  ifThere(() => afresh(() => (exists(path) ? read() : undefined)))

/** The names in a directory; none if there is none. */
export const namesIn = (path: string): string[] => readIfSeen(path, () => readdirSync(path)) ?? []

/** So long, in milliseconds, the client of a FUSE file system may believe that a file is as short as it was. */
const REMEMBERED_MS = 1100

/** What looks torn may be complete by now, and known to be so by another client only. */
export function outwaitCaches(directory: string): void {
  if (isOnFuse(directory)) pause(REMEMBERED_MS)
}

/** Looks again if what is seen looks torn: it may be about to become complete. */
export function lookTwice<T>(directory: string, look: () => T, isTorn: (seen: T) => boolean): T {
  const seen = look()
  if (!isTorn(seen)) return seen
  outwaitCaches(directory)
  return look()
}

/** @throws the system error, other than ENOENT */
export const readIfThere = (path: string): string | undefined =>
  readIfSeen(path, () => patiently(() => readFileSync(path, 'utf8')))

/**
 * Makes a directory that stays, unless it is there.
 * @throws the system error
 */
export function makeThere(directory: string, name: string): void {
  const path = join(directory, name)
  try {
    mkdirSync(path, { mode: rightsOf(directory) })
  } catch (error) {
    if (!exists(path)) throw error
  }
  flushDirectorySync(dirname(path))
}

/**
 * Node's `rmSync` looks at the file first, and some of its errors have no code.
 * @returns false if there is no such file
 * @throws the system error
 */
export const removeIfThere = (path: string): boolean =>
  ifThere(() => {
    unlinkSync(path)
    return true
  }) ?? false

/**
 * @returns false if there is no such file: somebody else has moved it
 * @throws the system error
 */
export const renameIfThere = (from: string, to: string): boolean =>
  ifThere(() => {
    patiently(() => renameSync(from, to))
    return true
  }) ?? false

/** Removes what does no harm if it stays. */
export const tryToRemove = (path: string): void => void attempt(() => patiently(() => removeIfThere(path)))

/** @returns false if it is not there, or not empty */
export const removeEmpty = (path: string): boolean =>
  attempt(() => {
    rmdirSync(path)
    return true
  }) ?? false

/**
 * The rights of what is made in a directory: the directory's own, without those of other users. A directory that is
 * open to a group keeps working for it. The umask takes nothing away: main.ts clears it.
 * @throws the system error
 */
export const rightsOf = (directory: string) => statSync(directory).mode & 0o770

/** The same for a file in it. */
export const fileRights = (rights: number) => rights & 0o660

const STICKY = 0o1000

/** Where only their owners can remove files (unlink(2)): tells those that this user can't remove. */
export function keptFromUs(directory: string): (path: string) => boolean {
  const us = process.getuid?.() ?? 0
  const { mode, uid } = statSync(directory)
  // Elsewhere, the server decides, by numbers of its own.
  if (us === 0 || us === uid || (mode & STICKY) === 0 || !isTested(directory)) return () => false
  return (path) => (lstatSync(path, { throwIfNoEntry: false })?.uid ?? us) !== us
}

/** A file system may have no end that can be seen. */
const DEEPEST = 256

const statusOf = (path: string) => statSync(path, { bigint: true, throwIfNoEntry: false })

/** Whether two paths lead to the same directory, as far as its numbers say. */
export function isSame(source: string, target: string): boolean {
  const [one, other] = [statusOf(source), statusOf(target)]
  return other !== undefined && one?.dev === other.dev && one.ino === other.ino
}

/** Each directory once, by its first path. */
export const distinct = (paths: readonly string[]): string[] =>
  paths.filter((path, at) => !paths.slice(0, at).some((before) => before === path || isSame(before, path)))

/** Whether two directories are on one disk, or one partition of it. */
export const areOnOneDisk = (source: string, target: string) =>
  statusOf(source)?.dev === statusOf(target)?.dev

export const sameDirectory = (source: string, target: string) =>
  new Failure('same-directory', `${source} and ${target} are the same directory`)

/**
 * Whether a directory is inside another one, or is that one, as far as this user may look. The system finds the place
 * above: the path of a mount or a link does not say it.
 */
export const isInside = (inner: string, outer: string): boolean =>
  attempt(() => {
    let place = inner
    for (let depth = 0; depth < DEEPEST; depth++) {
      if (isSame(place, outer)) return true
      const above = `${place}/..`
      if (isSame(place, above)) return false
      place = above
    }
    return false
  }) ?? false
