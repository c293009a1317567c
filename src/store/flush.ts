import { closeSync, constants, fsync, fsyncSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Windows has no way to flush a directory; NTFS keeps its names in a journal of its own. */
const CAN_FLUSH_DIRECTORY = process.platform !== 'win32'

const READ_DIRECTORY = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0)

/** Flushes that run together share the disk's work; more than this hold up the event loop for long. */
export const FLUSHES_AT_ONCE = 64

/** Windows flushes a file only for those who may write it. */
const TO_FLUSH = process.platform === 'win32' ? 'r+' : 'r'

/** Flushes an open file to the disk without holding up the event loop. */
export const flushFile = promisify(fsync)

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
 * Makes files durable that were renamed in a directory: first their contents, then their names.
 * @throws the system error: what was renamed may be undone by a power cut
 */
export async function flushNames(directory: string, names: readonly string[]): Promise<void> {
  for (let at = 0; at < names.length; at += FLUSHES_AT_ONCE) {
    const some = names.slice(at, at + FLUSHES_AT_ONCE)
    await Promise.all(some.map((name) => flushPath(join(directory, name))))
  }
  flushDirectorySync(directory)
}

/**
 * Makes the names in a directory durable: a rename or link is not before this (fsync(2), "calling fsync() does not
 * necessarily ensure that the entry in the directory has also reached disk").
 * @throws the system error: what was renamed may be undone by a power cut
 */
export function flushDirectorySync(path: string): void {
  if (!CAN_FLUSH_DIRECTORY) return
  const directory = openSync(path, READ_DIRECTORY)
  try {
    fsyncSync(directory)
    checkAlive(path)
  } finally {
    closeSync(directory)
  }
}

/** The same without holding up the event loop. */
export async function flushDirectory(path: string): Promise<void> {
  if (!CAN_FLUSH_DIRECTORY) return
  const directory = openSync(path, READ_DIRECTORY)
  try {
    await flushFile(directory)
    checkAlive(path)
  } finally {
    closeSync(directory)
  }
}

/**
 * XFS, once it has shut itself down because its disk fails, forgets what it has not written and still says that the
 * flush of a directory went well. But it lets nobody open anything: whatever can be opened has been flushed.
 */
function checkAlive(path: string): void {
  closeSync(openSync(path, READ_DIRECTORY))
}
