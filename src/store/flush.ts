import { closeSync, constants, fsync, fsyncSync, openSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { errnoOf } from '../failure.ts'

/** Windows can't flush a directory. NTFS journals names itself. */
const CAN_FLUSH_DIRECTORY = process.platform !== 'win32'

/** Errors of other file systems that can't do it: 9p2000.u, some FUSE and some network file systems. */
const NO_FLUSH = ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'EBADF', 'ENOSYS']

const READ_DIRECTORY = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0)

/** What Linux calls the type of FAT in statfs(2): MSDOS_SUPER_MAGIC. exFAT has another one. */
const FAT = 0x4d44

/** Concurrent flushes share disk work. More than this block the event loop for long. */
export const FLUSHES_AT_ONCE = 64

/** On Windows, flushing a file requires write access. */
const TO_FLUSH = process.platform === 'win32' ? 'r+' : 'r'

const flushLater = promisify(fsync)

/**
 * Does not block the event loop.
 * @returns false if the file system does not support it
 * @throws the system error
 */
export const flushFile = (file: number): Promise<boolean> =>
  flushLater(file).then(() => true, falseWhereUnable)

/**
 * The name is not durable until the directory is flushed.
 * @throws the system error, EEXIST if the file exists
 */
export async function writeFlushed(path: string, contents: Buffer, mode: number): Promise<void> {
  const file = openSync(path, 'wx', mode)
  try {
    writeFileSync(file, contents)
    await flushFile(file)
  } finally {
    closeSync(file)
  }
}

/** The same, holding up the event loop. */
export function writeFlushedSync(path: string, contents: string, mode: number): void {
  const file = openSync(path, 'wx', mode)
  try {
    writeFileSync(file, contents)
    flushFileSync(file)
  } finally {
    closeSync(file)
  }
}

/**
 * FAT needs a flush after a rename: until then, the new name on the disk has no contents. On Windows, a file that is
 * read-only or open in another program is left to the system.
 * @throws the system error
 */
export async function flushPath(path: string): Promise<void> {
  let file: number
  try {
    file = openSync(path, TO_FLUSH)
  } catch (error) {
    if (process.platform === 'win32') return
    throw error
  }
  try {
    await flushFile(file)
  } finally {
    closeSync(file)
  }
}

/**
 * A process that claims or restores the file in the meantime flushes it itself.
 * @throws the system error
 */
export async function flushUnlessGone(path: string): Promise<void> {
  try {
    await flushPath(path)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
  }
}

/**
 * The names are durable once the directory is flushed too.
 * @throws the system error
 */
export async function flushFiles(
  paths: readonly string[],
  flush: (path: string) => Promise<void> = flushPath,
): Promise<void> {
  for (let at = 0; at < paths.length; at += FLUSHES_AT_ONCE) {
    await Promise.all(paths.slice(at, at + FLUSHES_AT_ONCE).map(flush))
  }
}

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
    if (this.#file === undefined) return true
    const isFlushed = flushFileSync(this.#file)
    checkAlive(this.#path)
    flushAboveOnFat(this.#path)
    return isFlushed
  }

  async flush(): Promise<boolean> {
    if (this.#file === undefined) return true
    const isFlushed = await flushFile(this.#file)
    checkAlive(this.#path)
    flushAboveOnFat(this.#path)
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

export async function flushDirectory(path: string): Promise<boolean> {
  const directory = new OpenDirectory(path)
  try {
    return await directory.flush()
  } finally {
    directory.close()
  }
}

/** The same as `flushFile`, holding up the event loop. */
export function flushFileSync(file: number): boolean {
  try {
    fsyncSync(file)
    return true
  } catch (error) {
    return falseWhereUnable(error)
  }
}

/** @throws the error, unless it means that the file system can't flush */
function falseWhereUnable(error: unknown): false {
  if (NO_FLUSH.includes(errnoOf(error) ?? '')) return false
  throw error
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
  try {
    if (process.platform !== 'linux' || statfsSync(path).type !== FAT) return undefined
    return openSync(join(path, '..'), READ_DIRECTORY)
  } catch {
    return undefined
  }
}
