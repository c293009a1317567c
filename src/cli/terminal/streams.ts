import { constants, fstatSync, openSync, writeSync } from 'node:fs'
import { errnoOf } from '../../failure.ts'
import { pause } from '../../pause.ts'

/**
 * Replaces process.stdout and process.stderr with stand-ins if they are not terminals. Node opens such a stream as
 * soon as code reads the property, as `node:assert` does while undici loads it. Not every pipe can be opened that
 * way: under Wine, it ended the program.
 */
export function standInForStreams(): void {
  const { Writable } = process.getBuiltinModule('node:stream')
  const { isatty } = process.getBuiltinModule('node:tty')
  const streams = [
    ['stdout', 1, () => {}],
    ['stderr', 2, writeStandardError],
  ] as const
  for (const [name, descriptor, write] of streams) {
    if (isatty(descriptor) && canBeOpened(name)) continue
    const standIn = new Writable({
      write(chunk, _encoding, done) {
        write(String(chunk))
        done()
      },
    })
    Object.defineProperty(process, name, { value: standIn, configurable: true })
  }
}

function canBeOpened(name: 'stdout' | 'stderr'): boolean {
  try {
    return process[name] !== undefined
  } catch {
    return false
  }
}

/** Whether the user wants colour (https://no-color.org) and the terminal has it. */
export const hasColour = (env: NodeJS.ProcessEnv = process.env) => !env['NO_COLOR'] && env['TERM'] !== 'dumb'

const STANDARD_ERROR = 2

/** One second. A reader that has not read by then never will. */
const FULL_PIPE_TRIES = 500
const FULL_PIPE_PAUSE_MS = 2

/** How often to try again. A reader that has not read for a second is not waited for again, until it reads. */
let tries = FULL_PIPE_TRIES

let descriptor: number | undefined

/**
 * Whether a standard stream is a console of Windows. It reads bytes in its code page, so names in UTF-8 would be
 * garbled. Node's streams give it UTF-16 instead.
 * @param descriptor 1 or 2
 */
export const isConsole = (descriptor: 1 | 2) =>
  process.platform === 'win32' && process.getBuiltinModule('node:tty').isatty(descriptor)

/**
 * Best effort: if standard error fails, there is nowhere left to report it. If it is a pipe that nobody reads, the text
 * is dropped: on Linux always, elsewhere only if the pipe was opened so that a write does not block.
 */
export function writeStandardError(text: string): void {
  if (isConsole(STANDARD_ERROR)) {
    process.stderr.write(text)
    return
  }
  descriptor ??= withoutBlocking()
  let bytes = Buffer.from(text)
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(writeSync(descriptor, bytes))
      tries = FULL_PIPE_TRIES
    } catch (error) {
      if (errnoOf(error) !== 'EAGAIN' || tries === 0) return
      tries--
      pause(FULL_PIPE_PAUSE_MS)
    }
  }
}

/**
 * A write into a full pipe blocks the whole process, which then obeys no signal. Linux can open a pipe once more, for
 * this process alone. A terminal that a person has stopped is waited for.
 */
function withoutBlocking(): number {
  try {
    if (!fstatSync(STANDARD_ERROR).isFIFO()) return STANDARD_ERROR
    return openSync(`/proc/self/fd/${STANDARD_ERROR}`, constants.O_WRONLY | constants.O_NONBLOCK)
  } catch {
    return STANDARD_ERROR
  }
}
