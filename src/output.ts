import { fstatSync, readSync, statSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { errnoOf } from './errors.ts'

const STANDARD_OUTPUT = 1
const FULL_PIPE_PAUSE_MS = 2

/**
 * Writes all of a text to standard output and returns when the system has taken it. Unlike process.stdout this is
 * done at once on every system, tells short writes and a reader that went away (EPIPE) as errors, and costs no
 * start-up time.
 * @param signal ends the wait for a reader that does not read
 * @throws the system error
 */
export async function writeOutput(text: string, signal?: AbortSignal): Promise<void> {
  const bytes = Buffer.from(text)
  let written = 0
  while (written < bytes.length) {
    try {
      written += writeSync(STANDARD_OUTPUT, bytes, written)
    } catch (error) {
      if (errnoOf(error) !== 'EAGAIN') throw error
      await sleep(FULL_PIPE_PAUSE_MS, undefined, signal ? { signal } : {})
    }
  }
}

/**
 * Whether the caller closed standard output (`>&-`). Node puts /dev/null there, open for reading too, which
 * `> /dev/null` is not; what was written would be lost without an error.
 */
export function isOutputClosed(): boolean {
  if (process.platform === 'win32') return false
  if (fstatSync(STANDARD_OUTPUT).rdev !== statSync('/dev/null').rdev) return false
  try {
    readSync(STANDARD_OUTPUT, Buffer.alloc(1))
    return true
  } catch {
    return false
  }
}
