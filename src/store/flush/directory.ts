import { closeSync, constants, openSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { errnoOf } from '../../failure.ts'
import { flushFile, flushFileSync, flushFiles } from './files.ts'

/** Windows can't flush a directory. NTFS journals names itself. */
const CAN_FLUSH_DIRECTORY = process.platform !== 'win32'

const READ_DIRECTORY = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0)

/** What Linux calls the type of FAT in statfs(2): MSDOS_SUPER_MAGIC. exFAT has another one. */
export const FAT = 0x4d44

/** ext4 and xfs: a power cut undoes only the last changes of names, whatever their directories. */
const ORDERED = [0xef53, 0x58465342]

/** These and btrfs, where a flush of one directory gets ahead of older changes in others. */
export const TESTED = [...ORDERED, 0x9123683e]

/** What Linux calls the type of FUSE in statfs(2). */
const FUSE = 0x65735546

/** tmpfs and ramfs. */
const IN_MEMORY = [0x01021994, 0x858458f6]

/** Opened before anything changes, so that a directory that can't be opened is found early. */
export class OpenDirectory {
  readonly #path: string
  readonly #file: number | undefined

  /** @throws the system error */
  constructor(path: string) {
    this.#path = path
    this.#file = CAN_FLUSH_DIRECTORY ? openSync(path, READ_DIRECTORY) : undefined
  }

  /**
   * Makes the names in the directory durable. Renames and links are not durable before this (fsync(2): "calling
   * fsync() does not necessarily ensure that the entry in the directory has also reached disk").
   * @returns false if the file system does not support it: a power cut may then undo renames
   * @throws the system error; a power cut may then undo renames, too
   */
  flushSync(): boolean {
    return this.#file === undefined || this.#checked(flushFileSync(this.#file))
  }

  async flush(): Promise<boolean> {
    return this.#file === undefined || this.#checked(await flushFile(this.#file))
  }

  #checked(isFlushed: boolean): boolean {
    checkAlive(this.#path)
    flushAboveOnFat(this.#path)
    return isFlushed
  }

  /**
   * Flushes files, and then the directory: both at once where one journal has them, which then writes once.
   * @returns as `flushSync`
   * @throws as `flushSync`
   */
  async flushWith(paths: readonly string[]): Promise<boolean> {
    const files = flushFiles(paths)
    if (!isOrdered(this.#path)) await files
    const [isFlushed] = await Promise.all([this.flush(), files])
    return isFlushed
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
  }
}

/**
 * @returns as `OpenDirectory.flushSync`
 * @throws as `OpenDirectory.flushSync`
 */
export function flushDirectorySync(path: string): boolean {
  const directory = new OpenDirectory(path)
  try {
    return directory.flushSync()
  } finally {
    directory.close()
  }
}

/** Does nothing if there is no such directory: the journal of a move may be closed by now. */
export function flushDirectoryIfThere(path: string): void {
  try {
    flushDirectorySync(path)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
  }
}

export async function flushDirectory(path: string): Promise<boolean> {
  const directory = new OpenDirectory(path)
  try {
    return await directory.flush()
  } finally {
    directory.close()
  }
}

/**
 * XFS shuts itself down when its disk fails. It then forgets unwritten data and still reports a successful flush of a
 * directory, but nothing can be opened any more.
 */
function checkAlive(path: string): void {
  closeSync(openSync(path, READ_DIRECTORY))
}

/**
 * On FAT, Linux keeps the first names of a new directory with the changes of the directory above, until that one is
 * flushed (`fat_alloc_new_dir`).
 * @throws the system error of the flush
 */
function flushAboveOnFat(path: string): void {
  const above = openAboveOnFat(path)
  if (above === undefined) return
  try {
    flushFileSync(above)
  } finally {
    closeSync(above)
  }
}

/** @returns undefined on other file systems, and where this user can't open it */
function openAboveOnFat(path: string): number | undefined {
  if (!isFat(path)) return undefined
  try {
    return openSync(join(path, '..'), READ_DIRECTORY)
  } catch {
    return undefined
  }
}

/** Whether a directory is on FAT. Only Linux tells. */
export const isFat = (path: string): boolean => fileSystemOf(path) === FAT

/** Whether changes of names reach the disk in their order. Only Linux tells. */
export const isOrdered = (path: string): boolean => ORDERED.includes(fileSystemOf(path) ?? 0)

/**
 * Whether power cuts were tested on the file system of a directory. Then a rename leaves one of its names, and the flush of
 * a new file brings its name. Only Linux tells.
 */
export const isTested = (path: string): boolean => TESTED.includes(fileSystemOf(path) ?? 0)

/** Whether a directory is on a file system that has no disk. Only Linux tells. */
export const isInMemory = (path: string): boolean => IN_MEMORY.includes(fileSystemOf(path) ?? 0)

/** Whether a directory is on FUSE, such as sshfs. Only Linux tells. */
export const isOnFuse = (path: string): boolean => fileSystemOf(path) === FUSE

/** The type of a file system in statfs(2). Only Linux tells. */
export function fileSystemOf(path: string): number | undefined {
  try {
    return process.platform === 'linux' ? statfsSync(path).type : undefined
  } catch {
    return undefined
  }
}
