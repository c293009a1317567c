import { fstatSync, readSync, statSync, write, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { errnoOf } from './errors.ts'

const STANDARD_OUTPUT = 1
const IS_WINDOWS = process.platform === 'win32'
const FULL_PIPE_PAUSE_MS = 2

/** So much goes into a pipe whole or not at all (POSIX PIPE_BUF), and waits for a reader only if the pipe is full. */
const WRITTEN_AT_ONCE = 4096

/**
 * Writes all of a text to standard output and returns when the system has taken it. Unlike process.stdout it tells
 * a reader that went away (EPIPE) as an error of this very text, is the same on every system, and costs no start-up
 * time.
 * @param signal ends the wait for a reader that does not read
 * @throws the system error, or the signal's reason
 */
export async function writeOutput(text: string, signal?: AbortSignal): Promise<void> {
  const bytes = Buffer.from(text)
  const mayBlock =
    bytes.length > WRITTEN_AT_ONCE || IS_WINDOWS || fstatSync(STANDARD_OUTPUT).isCharacterDevice()
  for (let written = 0; written < bytes.length; ) {
    signal?.throwIfAborted()
    written += await writeSome(bytes.subarray(written), mayBlock, signal)
  }
}

/** In another thread where it may take long: a serial port whose device is stuck would hold up Ctrl-C. */
async function writeSome(bytes: Buffer, mayBlock: boolean, signal?: AbortSignal): Promise<number> {
  try {
    return mayBlock ? await writeInBackground(bytes, signal) : writeSync(STANDARD_OUTPUT, bytes)
  } catch (error) {
    if (errnoOf(error) !== 'EAGAIN') throw error
    return sleep(FULL_PIPE_PAUSE_MS, 0)
  }
}

function writeInBackground(bytes: Buffer, signal?: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
    write(STANDARD_OUTPUT, bytes, (error, written) => (error === null ? resolve(written) : reject(error)))
  })
}

/**
 * Whether the caller closed standard output (`>&-`). Node puts /dev/null there, open for reading too, which
 * `> /dev/null` is not; what was written would be lost without an error.
 */
export function isOutputClosed(): boolean {
  if (IS_WINDOWS) return false
  if (fstatSync(STANDARD_OUTPUT).rdev !== statSync('/dev/null').rdev) return false
  try {
    readSync(STANDARD_OUTPUT, Buffer.alloc(1))
    return true
  } catch {
    return false
  }
}
