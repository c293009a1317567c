/** What is in a directory, made if it is missing and removed if it is there. */
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, unlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errnoOf } from '../failure.ts'
import { pause } from '../pause.ts'
import { flushDirectorySync, isOnFuse } from './flush/flush.ts'
import { patiently } from './patience.ts'

/** The names in a directory; none if there is none. */
export function namesIn(path: string): string[] {
  try {
    return readdirSync(path)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return []
    throw error
  }
}

/** Whether a name could not be created because it exists. Over SFTP (sshfs), that becomes EPERM. */
export const isExisting = (error: unknown, path: string) =>
  errnoOf(error) === 'EEXIST' || (errnoOf(error) === 'EPERM' && exists(path))

/** Also a broken link: nothing can be created there. Throws the system error if nobody can tell. */
export const exists = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined

/** So long, in milliseconds, the client of a FUSE file system may believe that a file is as short as it was. */
const REMEMBERED_MS = 1100

/** What looks torn may be complete by now, and known to be so by another client only. */
export function outwaitCaches(directory: string): void {
  if (isOnFuse(directory)) pause(REMEMBERED_MS)
}

/** @throws the system error, other than ENOENT */
export function readIfThere(path: string): string | undefined {
  try {
    return patiently(() => readFileSync(path, 'utf8'))
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Whoever comes late must not take a file for torn that another client has completed.
 * @throws as `readIfThere`
 */
export function readOutwaiting(path: string, isTorn: (text: string) => boolean): string | undefined {
  const text = readIfThere(path)
  if (text === undefined || !isTorn(text)) return text
  outwaitCaches(dirname(path))
  return readIfThere(path)
}

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
export function removeIfThere(path: string): boolean {
  try {
    unlinkSync(path)
    return true
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
    return false
  }
}

/** Removes what does no harm if it stays. */
export function tryToRemove(path: string): void {
  try {
    patiently(() => removeIfThere(path))
  } catch {}
}

/** @returns false if it is not there, or not empty */
export function removeEmpty(path: string): boolean {
  try {
    rmdirSync(path)
    return true
  } catch {
    return false
  }
}

/**
 * The rights of what is made in a directory: the directory's own, without those of other users. A directory that is
 * open to a group keeps working for it. The umask takes nothing away: main.ts clears it.
 * @throws the system error
 */
export const rightsOf = (directory: string) => statSync(directory).mode & 0o770

/** The same for a file in it. */
export const fileRights = (rights: number) => rights & 0o660
