import { closeSync, fsync, fsyncSync, openSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { errnoOf } from '../../failure.ts'
import { patiently } from '../patience.ts'

/** Errors of other file systems that can't do it: 9p2000.u, some FUSE and some network file systems. */
const NO_FLUSH = ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'EBADF', 'ENOSYS']

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
 * Writes a new file and flushes it. The name is not durable until the directory is flushed.
 * @throws the system error, EEXIST if the file exists
 */
export const writeFlushed = (path: string, contents: Buffer, mode: number): Promise<void> =>
  fillFlushed(openSync(path, 'wx', mode), contents)

/** The same for a new file that is open, and is closed then. */
export async function fillFlushed(file: number, contents: string | Uint8Array): Promise<void> {
  try {
    writeFileSync(file, contents)
    await flushFile(file)
  } finally {
    closeSync(file)
  }
}

/** Writes a new file without a flush, holding up the event loop. */
export function writeNewSync(path: string, contents: string, mode: number): void {
  const file = patiently(() => openSync(path, 'wx', mode))
  try {
    writeFileSync(file, contents)
  } finally {
    closeSync(file)
  }
}

/** @throws the system error */
export function flushPathSync(path: string): void {
  const file = patiently(() => openSync(path, TO_FLUSH))
  try {
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
    file = patiently(() => openSync(path, TO_FLUSH))
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
 * Does what `flushUnlessGone` does, holding up the event loop.
 * @throws the system error of open(2) or fsync(2)
 */
export function flushUnlessGoneSync(path: string): void {
  try {
    flushPathSync(path)
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
