import { closeSync, constants, fsync, fsyncSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { errnoOf } from '../failure.ts'

/** Windows has no way to flush a directory; NTFS keeps its names in a journal of its own. */
const CAN_FLUSH_DIRECTORY = process.platform !== 'win32'

/** What file systems answer that have no way either: 9p2000.u, some behind FUSE, some on a network. */
const NO_FLUSH = ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'EBADF', 'ENOSYS']

const READ_DIRECTORY = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0)

/** Flushes that run together share the disk's work; more than this hold up the event loop for long. */
export const FLUSHES_AT_ONCE = 64

/** Windows flushes a file only for those who may write it. */
const TO_FLUSH = process.platform === 'win32' ? 'r+' : 'r'

const flushLater = promisify(fsync)

/**
 * Flushes an open file or directory to the disk without holding up the event loop.
 * @returns false where the file system has no way to do that
 * @throws the system error
 */
export const flushFile = (file: number): Promise<boolean> =>
  flushLater(file).then(() => true, falseWhereUnable)

/**
 * Makes a new file with contents that are on the disk. Its name is not before its directory is flushed.
 * @throws the system error, EEXIST where there is such a file
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
    flushSync(file)
  } finally {
    closeSync(file)
  }
}

/**
 * Flushes a file by its path. FAT needs this after a rename: until then the disk has the new name with nothing in it.
 * On Windows a file that is read-only, or that another program holds, is left to the system.
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
 * Flushes a file that another process may have claimed or given back meanwhile: then it is that one's to flush.
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
 * Flushes files of a directory by their names. Those names are durable when the directory has been flushed, too.
 * @throws the system error
 */
export async function flushFiles(
  directory: string,
  names: readonly string[],
  flush: (path: string) => Promise<void> = flushPath,
): Promise<void> {
  for (let at = 0; at < names.length; at += FLUSHES_AT_ONCE) {
    const some = names.slice(at, at + FLUSHES_AT_ONCE)
    await Promise.all(some.map((name) => flush(join(directory, name))))
  }
}

/**
 * A directory that is held open, so that its names can be flushed after they have changed. One that can't even be
 * opened is found out before.
 */
export class OpenDirectory {
  readonly #path: string
  readonly #file: number | undefined

  /** @throws the system error */
  constructor(path: string) {
    this.#path = path
    this.#file = CAN_FLUSH_DIRECTORY ? openSync(path, READ_DIRECTORY) : undefined
  }

  /**
   * Makes the names in the directory durable: a rename or link is not before this (fsync(2), "calling fsync() does not
   * necessarily ensure that the entry in the directory has also reached disk").
   * @returns false where the file system has no way to do that: a power cut may undo what was renamed
   * @throws the system error: the same
   */
  flushSync(): boolean {
    if (this.#file === undefined) return true
    const isFlushed = flushSync(this.#file)
    checkAlive(this.#path)
    return isFlushed
  }

  /** The same without holding up the event loop. */
  async flush(): Promise<boolean> {
    if (this.#file === undefined) return true
    const isFlushed = await flushFile(this.#file)
    checkAlive(this.#path)
    return isFlushed
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
  }
}

/**
 * Flushes a directory that is not held open.
 * @returns and throws as `OpenDirectory.flushSync`
 */
export function flushDirectorySync(path: string): boolean {
  const directory = new OpenDirectory(path)
  try {
    return directory.flushSync()
  } finally {
    directory.close()
  }
}

/** The same without holding up the event loop. */
export async function flushDirectory(path: string): Promise<boolean> {
  const directory = new OpenDirectory(path)
  try {
    return await directory.flush()
  } finally {
    directory.close()
  }
}

function flushSync(file: number): boolean {
  try {
    fsyncSync(file)
    return true
  } catch (error) {
    return falseWhereUnable(error)
  }
}

/** @throws the error where it is about more than the file system's abilities */
function falseWhereUnable(error: unknown): false {
  if (NO_FLUSH.includes(errnoOf(error) ?? '')) return false
  throw error
}

/**
 * XFS, once it has shut itself down because its disk fails, forgets what it has not written and still says that the
 * flush of a directory went well. But it lets nobody open anything: whatever can be opened has been flushed.
 */
function checkAlive(path: string): void {
  closeSync(openSync(path, READ_DIRECTORY))
}
