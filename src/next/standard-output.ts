import { fstatSync, readSync, statSync, write } from 'node:fs'
import { devNull } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { errnoOf } from '../failure.ts'

const STANDARD_OUTPUT = 1
const FULL_PIPE_PAUSE_MS = 2

/** So long a write may still succeed after Ctrl-C: then the profile is delivered. */
const GRACE_MS = 200

/**
 * Writes all of a text to standard output and returns when the system has taken it. Unlike process.stdout it tells
 * a reader that went away (EPIPE) as an error of this very text, and costs little start-up time.
 * @param signal ends the wait for a reader that does not read
 * @throws the system error, or the signal's reason
 */
export async function writeOutput(text: string, signal?: AbortSignal): Promise<void> {
  const bytes = Buffer.from(text)
  let isFirst = true
  for (let written = 0; written < bytes.length; isFirst = false) {
    if (!isFirst) signal?.throwIfAborted()
    written += await writeSome(bytes.subarray(written), signal)
  }
}

/** Not writeSync: a full pipe, or a serial port whose device is stuck, would hold up Ctrl-C. */
function writeSome(bytes: Buffer, signal?: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    const onAbort = () => setTimeout(() => reject(signal?.reason), GRACE_MS).unref()
    // Where it was aborted before, it tells nobody any more.
    if (signal?.aborted) onAbort()
    signal?.addEventListener('abort', onAbort, { once: true })
    write(STANDARD_OUTPUT, bytes, (error, written) => {
      signal?.removeEventListener('abort', onAbort)
      if (error === null) resolve(written)
      else if (errnoOf(error) === 'EAGAIN') resolve(sleep(FULL_PIPE_PAUSE_MS, 0))
      else reject(error)
    })
  })
}

/**
 * Whether the caller closed standard output (`>&-`). Node puts the null device there, open for reading too, which
 * `> /dev/null` is not; what was written would be lost without an error.
 */
export function isOutputClosed(): boolean {
  try {
    const device = statSync(devNull)
    // A regular file has no device number of its own: a file or a pipe would look the same.
    if (device.isFile() || fstatSync(STANDARD_OUTPUT).rdev !== device.rdev) return false
    readSync(STANDARD_OUTPUT, Buffer.alloc(1))
    return true
  } catch {
    return false
  }
}
