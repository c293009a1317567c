/** Standard output, standard error and signals: a failure to write is seen, and Ctrl-C is obeyed. */
import { fstatSync, readSync, statSync, write, writeSync } from 'node:fs'
import { devNull } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { diskFailure, errnoOf, exitCode, Failure } from '../failure.ts'
import { pause } from '../pause.ts'

const FULL_PIPE_PAUSE_MS = 2

/** One second. A reader of messages that has not read by then never will. */
const FULL_PIPE_TRIES = 500

/** A profile is short. A reader that has not accepted it by then has probably stopped. */
const SLOW_MS = 2000

/** A write that succeeds within this time after Ctrl-C still delivers the profile. */
const GRACE_MS = 200

/** Bytes that the system has not answered for yet. It may accept them at any time. */
let pending = 0

/** Whether a write was given up that can still succeed. It keeps the process alive: only a signal ends both. */
export const isWritePending = () => pending > 0

/** Without `node:tty` for a pipe or a file: it loads node:net, 1.3 % of a call. Windows can't describe all that is open. */
export const isTerminal = (descriptor: 0 | 1 | 2) =>
  (process.platform === 'win32' || fstatSync(descriptor).isCharacterDevice()) &&
  process.getBuiltinModule('node:tty').isatty(descriptor)

/** A console of Windows reads bytes in its code page, which garbles UTF-8. Node's streams give it UTF-16 instead. */
const isConsole = (descriptor: 1 | 2) => process.platform === 'win32' && isTerminal(descriptor)

/**
 * Writes lines, with their ends, to standard output and returns when the system has accepted all of them. Unlike
 * process.stdout, it reports a closed pipe (EPIPE) as an error of this write, and it adds little start-up time.
 * @param signal ends the wait for a reader that does not read
 * @param onSlow is called once, if the system has not accepted all of them within two seconds
 * @throws the system error, or the reason of the signal
 */
export async function writeLines(lines: string[], signal?: AbortSignal, onSlow = () => {}): Promise<void> {
  const bytes = Buffer.from(lines.join(''))
  const slow = setTimeout(onSlow, SLOW_MS)
  let written = 0
  try {
    for (let isFirst = true; written < bytes.length; isFirst = false) {
      if (!isFirst) signal?.throwIfAborted()
      written += await writeSome(bytes.subarray(written), signal)
    }
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
    write(1, bytes, (error, written) => {
      pending = 0
      signal?.removeEventListener('abort', onAbort)
      if (error === null) resolve(written)
      else if (errnoOf(error) === 'EAGAIN') resolve(sleep(FULL_PIPE_PAUSE_MS, 0))
      else reject(error)
    })
  })
}

/** Prints what is no profile: a list, the help. @throws {Failure} `disk` */
export async function print(text: string): Promise<void> {
  if (isConsole(1)) {
    await new Promise((resolve) => process.stdout.write(text, resolve))
    return
  }
  const hint = 'check the file or the program that receives the output'
  await writeLines([text]).catch((error) => {
    throw diskFailure("can't write to standard output", error, hint)
  })
}

/**
 * Whether the caller has closed standard output (`>&-`). Node then opens the null device there, for reading too, which
 * `> /dev/null` does not. Output would be lost without an error.
 */
export function isOutputClosed(): boolean {
  try {
    const device = statSync(devNull)
    // A regular file has no device number, so files and pipes would look the same.
    if (device.isFile() || fstatSync(1).rdev !== device.rdev) return false
    readSync(1, Buffer.alloc(1))
    return true
  } catch {
    return false
  }
}

/**
 * Whether standard output and standard error are the same terminal. A serial port is a terminal too, but it is not
 * where messages appear.
 */
export function isOnScreen(): boolean {
  if (!isTerminal(1) || !isTerminal(2)) return false
  // Windows has one console, and can't describe everything that is open.
  return process.platform === 'win32' || fstatSync(1).rdev === fstatSync(2).rdev
}

/**
 * Best effort: if standard error fails, there is nowhere left to report it, and the terminal may be closed. What a full
 * pipe that does not block has not taken after a second is dropped.
 */
export function writeStandardError(text: string): void {
  if (isConsole(2)) {
    process.stderr.write(text)
    return
  }
  let bytes = Buffer.from(text)
  for (let tries = 0; bytes.length > 0 && tries < FULL_PIPE_TRIES; ) {
    try {
      bytes = bytes.subarray(writeSync(2, bytes))
    } catch (error) {
      if (errnoOf(error) !== 'EAGAIN') return
      tries++
      pause(FULL_PIPE_PAUSE_MS)
    }
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Makes the first signal, Ctrl-C (SIGINT), SIGTERM or a closed terminal (SIGHUP), ask for an orderly end. A second Ctrl-C
 * or SIGTERM ends the process at once, with exit code 130.
 * @param onSignalled is called for each signal that has an effect; `isLast` means that the process ends now
 */
export function onInterrupt(graceMs: number, onSignalled: (isLast: boolean) => void = () => {}) {
  const stop = new AbortController()
  const abort = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let isHeld = false
  const onSignal = (signal: NodeJS.Signals) => {
    // A terminal that is closed sends several.
    if (stop.signal.aborted && (isHeld || signal === 'SIGHUP')) return
    onSignalled(stop.signal.aborted)
    if (stop.signal.aborted) process.exit(exitCode('interrupted'))
    stop.abort(new Failure('interrupted', 'interrupted', 'run the same command again'))
    timer = setTimeout(() => abort.abort(), graceMs)
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  return {
    /** Aborted at the first signal: start nothing new. */
    stop: stop.signal,
    /** Aborted `graceMs` later: give up pending work. */
    abort: abort.signal,
    /** From now on, another signal does not end the process. */
    hold() {
      isHeld = true
    },
    release() {
      clearTimeout(timer)
      for (const signal of SIGNALS) process.off(signal, onSignal)
    },
  }
}
