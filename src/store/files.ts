/**
 * The one wrapper round the file system: it waits for what others hold for a moment, and makes things durable. A look can
 * be old on a network client, and a server may report an error for what it did: only a rename, a creation or a removal
 * that was done decides.
 */
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { errnoOf, ifPossible, reasonOf, UnusableProfile } from '../failure.ts'
import { pause } from '../pause.ts'
import { newTag } from './names.ts'

const IS_WINDOWS = process.platform === 'win32'

/** A server has forgotten a file and knows it again; a virus scanner on Windows has it open for a moment. */
const PASSING = IS_WINDOWS ? ['ESTALE', 'EACCES', 'EBUSY', 'EPERM'] : ['ESTALE']
const TRIES = 50
const PAUSE_MS = 20

/**
 * Tries again for a second.
 * @throws the error of the last try
 */
export function patiently<T>(action: () => T, passing: readonly string[] = PASSING): T {
  for (let tries = TRIES; ; tries--) {
    try {
      return action()
    } catch (error) {
      if (tries === 0 || !passing.includes(errnoOf(error) ?? '')) throw error
      pause(PAUSE_MS)
    }
  }
}

/** Waits for something for a second, and says whether it came. */
export function waitFor(hasCome: () => boolean): boolean {
  for (let tries = TRIES; tries > 0; tries--) {
    if (hasCome()) return true
    pause(PAUSE_MS)
  }
  return false
}

/** @returns undefined if there is no such file. What somebody has put in the place of a directory, such as a file, has none */
function ifThere<T>(action: () => T): T | undefined {
  try {
    return patiently(action)
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR'].includes(errnoOf(error) ?? '')) throw error
    return undefined
  }
}

/** Whether an error says that somebody has taken a file away. Over NFS, what another client has removed is stale. */
export const isGone = (error: unknown): boolean => ['ENOENT', 'ESTALE'].includes(errnoOf(error) ?? '')

/** Also a broken link: nothing can be created there. */
export const exists = (path: string): boolean => fs.lstatSync(path, { throwIfNoEntry: false }) !== undefined

/** @returns undefined if there is no such file */
export const read = (path: string): string | undefined => ifThere(() => fs.readFileSync(path, 'utf8'))

/** None if there is no such directory. */
export const namesIn = (path: string): string[] => ifThere(() => fs.readdirSync(path)) ?? []

/** @returns false if there is no such file */
export const remove = (path: string): boolean => takeOff([path], fs.unlinkSync)

/** So many files are open at once. */
const OPEN_AT_ONCE = 200

const unlinkLater = promisify(fs.unlink)

/** Removes many files of one directory, in threads. Those that are gone are no error. */
export async function removeAll(paths: readonly string[]): Promise<void> {
  for (let at = 0; at < paths.length; at += OPEN_AT_ONCE) {
    const some = paths.slice(at, at + OPEN_AT_ONCE)
    if (some.length === 1 || isOnFat(dirname(some[0] ?? ''))) takeOff(some, fs.unlinkSync)
    else await Promise.all(some.map((path) => unlinkLater(path).catch(() => remove(path))))
  }
}

/**
 * Removes names of one directory. On FAT, Linux frees the clusters of a file that nobody has open; its name must be off the
 * disk before, or a power cut leaves a name for what belongs to another file.
 * @returns whether one of them was there
 */
function takeOff(paths: readonly string[], action: (path: string) => void): boolean {
  const above = dirname(paths[0] ?? '')
  const isFat = ifThere(() => isOnFat(above))
  const open = isFat ? paths.flatMap((path) => ifThere(() => fs.openSync(path, 'r')) ?? []) : []
  const take = (path: string): boolean => {
    action(path)
    return true
  }
  try {
    const taken = paths.filter((path) => ifThere(() => take(path)))
    if (open.length > 0) flushDirectory(above)
    return taken.length > 0
  } finally {
    for (const file of open) fs.closeSync(file)
  }
}

/** Leaves a directory that is not empty, and a name that is none. */
export const removeEmpty = (path: string): void => ifPossible(() => void takeOff([path], fs.rmdirSync))

/**
 * Renames a file to a name that no other file gets. A server that reports an error may have done it.
 * @returns false if it is neither here nor there; `there` if somebody may have done it
 */
export function rename(from: string, to: string): 'done' | 'there' | false {
  try {
    patiently(() => fs.renameSync(from, to))
  } catch (error) {
    // Somebody else has done it, and has a directory under its old name.
    if (errnoOf(error) === 'ENOTDIR' && fs.lstatSync(to, { throwIfNoEntry: false })?.isFile()) return 'there'
    if (errnoOf(error) !== 'ENOENT' && exists(from)) throw error
    return exists(to) && 'there'
  }
  flushRenamed(to)
  return 'done'
}

/** On FAT, a new name has no contents before they are flushed, nor has it a place before its directory is. */
function flushRenamed(path: string): void {
  if (isOnFat(dirname(path))) ifThere(() => flushFile(path))
}

const rights = new Map<string, number>()

/** The rights of what is made in a directory: its own, without those of other users. */
function rightsIn(directory: string): number {
  const known = rights.get(directory) ?? fs.statSync(directory).mode & 0o770
  rights.set(directory, known)
  return known
}

/** The rights of a new file in a directory. */
export const fileRights = (directory: string): number => rightsIn(directory) & 0o660

/**
 * Writes a new file. It is not durable yet.
 * @throws EEXIST; after any other error there is no such file, as far as the disk lets this call remove it
 */
export function write(path: string, text: string | Uint8Array): void {
  const file = patiently(() => fs.openSync(path, 'wx', fileRights(dirname(path))))
  try {
    fs.writeFileSync(file, text)
  } catch (error) {
    ifPossible(() => fs.unlinkSync(path))
    throw error
  } finally {
    fs.closeSync(file)
  }
}

/**
 * Makes a directory that must be new: of two, one gets it.
 * @returns false if something is there
 */
export function makeNew(path: string): boolean {
  try {
    fs.mkdirSync(path, { mode: rightsIn(dirname(path)) })
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
    return false
  }
  // On FAT, a new directory that was not flushed has any entries after a power cut, and Linux sets all of it read-only.
  if (isOnFat(dirname(path))) flushDirectory(path)
  return true
}

/** Makes a directory that stays, unless it is there. */
export function make(path: string): string {
  makeNew(path)
  return path
}

/** If a directory is not empty; on Windows and over SMB, if there is any. */
const IN_THE_WAY = ['ENOTEMPTY', 'EEXIST', 'EACCES', 'EBUSY', 'EPERM', 'ESTALE']

/** Makes a draft: a directory with one file in it. Both are durable once the directory above is flushed. */
export function prepare(path: string, entry: string, text: string): void {
  make(path)
  write(join(path, entry), text)
  flushFile(join(path, entry))
  flushDirectory(path)
}

/**
 * A decision between several: a directory with one file in it is renamed, and nobody replaces one that is not empty.
 * @param isEntry which names in it count; others may be there
 * @returns the name that is decided: `entry`, or that of whoever was first; undefined if both are gone
 */
export function decide(
  from: string,
  to: string,
  entry: string,
  isEntry: (name: string) => boolean = () => true,
): string | undefined {
  return patiently(() => {
    try {
      fs.renameSync(from, to)
    } catch (error) {
      const first = namesIn(to).find(isEntry)
      if (first !== undefined || !exists(from)) return first
      // A client of NFS may have looked before, and sees what is in the way when it has changed the directory.
      if (errnoOf(error) === 'ENOTEMPTY') ifPossible(() => withScratch(dirname(to), () => {}))
      throw error
    }
    flushRenamed(to)
    return entry
  }, IN_THE_WAY)
}

/** Removes a draft, or what was decided. */
export function drop(path: string, entry: string): void {
  remove(join(path, entry))
  removeEmpty(path)
}

/**
 * Reads a file that somebody else may have made, such as that of a profile.
 * @returns undefined if there is none
 * @throws {UnusableProfile}
 */
export function readText(path: string): string | undefined {
  try {
    // Some editors begin a file with a byte order mark.
    return read(path)?.replace(/^\ufeff/, '')
  } catch (error) {
    const code = errnoOf(error)
    if (code === undefined) throw error
    const fault = code === 'EISDIR' ? 'damaged' : 'unreadable'
    throw new UnusableProfile(fault, `it can't be read: ${reasonOf(error)}`, error)
  }
}

/** Some network file systems can't flush a directory. Windows can't at all: NTFS has a journal of names. */
const UNABLE = ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'EBADF', 'ENOSYS']

/** To flush a file on Windows requires write access. */
const TO_FLUSH = IS_WINDOWS ? 'r+' : 'r'

/** Threads flush so many at once, as many as there are: one commit of a journal serves them all, and 64 files may be open. */
const FLUSHES_AT_ONCE = 32

const flushLater = promisify(fs.fsync)

/** @throws any other error */
function ignoreIfUnable(error: unknown): void {
  if (!UNABLE.includes(errnoOf(error) ?? '')) throw error
}

/**
 * Flushes files. Their names are durable once the directory is flushed.
 * @param mayBeGone whether others may have moved one on: they flush it
 * @throws the system error
 */
export async function flushFiles(paths: readonly string[], mayBeGone = false): Promise<void> {
  const directories = [...new Set(paths.map(dirname))]
  for (const directory of directories) if (isOnFat(directory)) flushDirectory(directory)
  if (directories.every((directory) => IN_MEMORY.includes(typeOf(directory)))) return
  const flushOne = async (path: string) => {
    let file: number | undefined
    try {
      file = patiently(() => fs.openSync(path, TO_FLUSH))
      await flushLater(file).catch(ignoreIfUnable)
    } catch (error) {
      // No look says more: it may be old.
      if (!mayBeGone || !isGone(error)) throw error
    } finally {
      if (file !== undefined) fs.closeSync(file)
    }
  }
  for (let at = 0; at < paths.length; at += FLUSHES_AT_ONCE)
    await Promise.all(paths.slice(at, at + FLUSHES_AT_ONCE).map(flushOne))
}

/** The same for directories, where the system can. */
export const flushDirectories = (paths: readonly string[]): Promise<void> =>
  IS_WINDOWS ? Promise.resolve() : flushFiles(paths)

/** One file, holding up the event loop. */
export function flushFile(path: string): void {
  // On FAT, Linux writes the length of a file before the table of its clusters, which the directory's flush writes.
  if (isOnFat(dirname(path))) flushDirectory(dirname(path))
  flushAndClose(patiently(() => fs.openSync(path, TO_FLUSH)))
}

function flushAndClose(file: number): void {
  try {
    fs.fsyncSync(file)
  } catch (error) {
    ignoreIfUnable(error)
  } finally {
    fs.closeSync(file)
  }
}

/**
 * Makes the names in a directory durable. Where a file system can't, a power cut may undo the last changes of names.
 * @throws the system error, also ENOENT: a directory that is not there proves nothing
 */
export function flushDirectory(path: string): void {
  if (IS_WINDOWS) return
  flushAndClose(patiently(() => fs.openSync(path, 'r')))
  // Linux keeps the first names of a new directory on FAT with the changes of the directory above.
  if (isOnFat(path)) flushAndClose(fs.openSync(join(path, '..'), 'r'))
}

/** Makes a file, and removes it at the end. */
export function withScratch<T>(directory: string, action: (path: string) => T): T {
  const path = join(directory, `.~${newTag()}`)
  write(path, '')
  try {
    return action(path)
  } finally {
    ifPossible(() => void remove(path))
  }
}

/**
 * Makes the names in a directory durable, also where none can be flushed: Windows and servers of SMB write changes of names
 * to a log, which is on the disk up to a file that is flushed.
 * @param renamed the files that have new names; none if names were removed, and a new file is flushed
 */
export async function flushNames(directory: string, ...renamed: readonly string[]): Promise<void> {
  flushDirectory(directory)
  if (!canTwoWin(directory)) return
  if (renamed.length === 0) withScratch(directory, flushFile)
  else await flushFiles(renamed, true)
}

/** MSDOS_SUPER_MAGIC and EXFAT_SUPER_MAGIC of statfs(2). */
const FAT = [0x4d44, 0x2011bab0]

/** tmpfs and ramfs, which have no disk. */
const IN_MEMORY = [0x01021994, 0x858458f6]

/** FAT, ext4, xfs, btrfs, tmpfs, f2fs, overlayfs, ZFS and NFS: of two renames of one file, exactly one succeeds. */
const EXACT = [...FAT, 0xef53, 0x58465342, 0x9123683e, 0x1021994, 0xf2f52010, 0x794c7630, 0x2fc12fc1, 0x6969]

/** By the directories: to ask costs a round trip. */
const types = new Map<string, number>()

/** The type of a file system in statfs(2). Only Linux tells it by the same numbers everywhere. */
function typeOf(path: string): number {
  if (process.platform !== 'linux') return 0
  const known = types.get(path) ?? fs.statfsSync(path).type
  types.set(path, known)
  return known
}

export const isOnFat = (directory: string): boolean => FAT.includes(typeOf(directory))

/** Whether two renames of one file may both succeed, as on Windows and over SMB. */
export const canTwoWin = (directory: string): boolean => !EXACT.includes(typeOf(directory))
