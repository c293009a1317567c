import { closeSync, constants, fsync, fsyncSync, openSync } from 'node:fs'
import { promisify } from 'node:util'
import { errnoOf } from '../errors.ts'

/** Windows has no way to flush a directory; NTFS keeps its names in a journal of its own. */
const CAN_FLUSH_DIRECTORY = process.platform !== 'win32'

/** What file systems answer that have no way either: 9p2000.u, some behind FUSE, some on a network. */
const NO_FLUSH = ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'EBADF', 'ENOSYS']

const READ_DIRECTORY = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0)

/** Flushes an open file to the disk without holding up the event loop. */
export const flushFile = promisify(fsync)

/**
 * A directory that is held open, so that its names can be flushed after they have changed. One that can't even be
 * opened is found out before.
 */
export class HeldDirectory {
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
    let isFlushed = true
    try {
      fsyncSync(this.#file)
    } catch (error) {
      isFlushed = falseWhereUnable(error)
    }
    checkAlive(this.#path)
    return isFlushed
  }

  /** The same without holding up the event loop. */
  async flush(): Promise<boolean> {
    if (this.#file === undefined) return true
    const isFlushed = await flushFile(this.#file).then(() => true, falseWhereUnable)
    checkAlive(this.#path)
    return isFlushed
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
  }
}

/**
 * Flushes a directory that is not held open.
 * @returns and throws as `HeldDirectory.flushSync`
 */
export function flushDirectorySync(path: string): boolean {
  const directory = new HeldDirectory(path)
  try {
    return directory.flushSync()
  } finally {
    directory.close()
  }
}

/** The same without holding up the event loop. */
export async function flushDirectory(path: string): Promise<boolean> {
  const directory = new HeldDirectory(path)
  try {
    return await directory.flush()
  } finally {
    directory.close()
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
