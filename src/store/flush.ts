import { closeSync, constants, fsync, fsyncSync, openSync } from 'node:fs'
import { promisify } from 'node:util'

/** Windows has no way to flush a directory; NTFS keeps its names in a journal of its own. */
const CAN_FLUSH_DIRECTORY = process.platform !== 'win32'

const READ_DIRECTORY = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0)

/** Flushes an open file to the disk without holding up the event loop. */
export const flushFile = promisify(fsync)

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
