import { fstatSync, readSync, statSync, write } from 'node:fs'
import { devNull } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { errnoOf, reasonOf } from '../failure.ts'

const STANDARD_OUTPUT = 1
const STANDARD_ERROR = 2
const FULL_PIPE_PAUSE_MS = 2

/** A profile is short. A reader that has not accepted it by then has probably stopped. */
const SLOW_MS = 2000

/** A write that succeeds within this time after Ctrl-C still delivers the profile. */
const GRACE_MS = 200

/** Bytes that the system has not answered for yet. It may accept them at any time. */
let pending = 0

/**
 * Whether a write was given up that can still succeed. It keeps the process alive, even after `process.exit`: only a
 * signal ends both.
 */
export const isWritePending = () => pending > 0

/** Only a part of the text was written, or nothing of it. */
export class WriteFailure extends Error {
  /** How many bytes may have reached the reader: what the system accepted, and what is pending. */
  readonly possible: number

  constructor(possible: number, cause: unknown) {
    super(reasonOf(cause), { cause })
    this.possible = possible
  }
}

/**
 * Writes the text to standard output and returns when the system has accepted all of it. Unlike process.stdout, it
 * reports a closed pipe (EPIPE) as an error of this write, and it adds little start-up time.
 * @param signal ends the wait for a reader that does not read
 * @param onSlow is called once, if the system has not accepted all of the text within two seconds
 * @throws {WriteFailure} whose cause is the system error, or the reason of the signal
 */
export async function writeOutput(text: string, signal?: AbortSignal, onSlow?: () => void): Promise<void> {
  const bytes = Buffer.from(text)
  const slow = onSlow && setTimeout(onSlow, SLOW_MS)
  let written = 0
  try {
    for (let isFirst = true; written < bytes.length; isFirst = false) {
      if (!isFirst) signal?.throwIfAborted()
      written += await writeSome(bytes.subarray(written), signal)
    }
  } catch (error) {
    throw new WriteFailure(written + pending, error)
  } finally {
    clearTimeout(slow)
  }
}

/** Asynchronous, because a full pipe or a serial port with a stuck device would block Ctrl-C. */
function writeSome(bytes: Buffer, signal?: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    const onAbort = () => setTimeout(() => reject(signal?.reason), GRACE_MS).unref()
    // An aborted signal no longer fires its event.
    if (signal?.aborted) onAbort()
    signal?.addEventListener('abort', onAbort, { once: true })
    pending = bytes.length
    write(STANDARD_OUTPUT, bytes, (error, written) => {
      pending = 0
      signal?.removeEventListener('abort', onAbort)
      if (error === null) resolve(written)
      else if (errnoOf(error) === 'EAGAIN') resolve(sleep(FULL_PIPE_PAUSE_MS, 0))
      else reject(error)
    })
  })
}

/**
 * Whether standard output and standard error are the same terminal. A serial port is a terminal too, but it is not
 * where messages appear.
 */
export async function isOnScreen(): Promise<boolean> {
  try {
    const [output, error] = [fstatSync(STANDARD_OUTPUT), fstatSync(STANDARD_ERROR)]
    if (!output.isCharacterDevice() || output.rdev !== error.rdev) return false
    // Loading it takes time, and a station never gets here.
    const { isatty } = await import('node:tty')
    return isatty(STANDARD_OUTPUT) && isatty(STANDARD_ERROR)
  } catch {
    return false
  }
}

/**
 * Detects whether the caller closed standard output (`>&-`). Node then opens the null device there, for reading too,
 * which `> /dev/null` does not. Output would be lost without an error.
 */
export function isOutputClosed(): boolean {
  try {
    const device = statSync(devNull)
    // A regular file has no device number, so files and pipes would look the same.
    if (device.isFile() || fstatSync(STANDARD_OUTPUT).rdev !== device.rdev) return false
    readSync(STANDARD_OUTPUT, Buffer.alloc(1))
    return true
  } catch {
    return false
  }
}
