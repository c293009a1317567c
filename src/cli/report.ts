/**
 * Everything the tool tells a person. The rules:
 * - all of it goes to standard error: standard output belongs to the device;
 * - one thing, one line: `softsim: `, lower case, no full stop; a hint line says what to do next;
 * - secrets are blotted out and control characters escaped here, so that no caller can forget it.
 */
import { writeSync } from 'node:fs'
import { errnoOf, Failure } from '../failure.ts'
import type { Level, Messages } from '../words.ts'

const STANDARD_ERROR = 2
const SHORTEST_SECRET = 4

/** A second in all: a reader who does not read that long never will. */
const FULL_PIPE_TRIES = 500
const FULL_PIPE_PAUSE_MS = 2

export class Report implements Messages {
  /** 0: warnings and failures, 1: what it does, 2: each request and file, 3: everything but secrets. */
  level = 0
  /** A line that is always the last one on the terminal, where there is one. */
  lastLine: { clear(): void; render(): void } | undefined
  readonly #secrets: string[] = []
  readonly #write: (text: string) => void

  /** @param write writes a finished text to standard error */
  constructor(write: (text: string) => void = writeStandardError) {
    this.#write = write
  }

  /** From now on this text appears in no message. */
  hide(secret: string | undefined): void {
    if (secret === undefined || secret.length < SHORTEST_SECRET) return
    const quoted = JSON.stringify(secret).slice(1, -1)
    // As services echo it: some escape more in JSON than they must, some as in an address.
    this.#secrets.push(secret, quoted, quoted.replaceAll('/', '\\/'), encodeURIComponent(secret))
    // One may begin with another.
    this.#secrets.sort((a, b) => b.length - a.length)
  }

  warn(text: string): void {
    this.#line(`warning: ${text}`)
  }

  /** Tells something from a verbosity on. */
  tell(level: Level, text: string): void {
    if (this.level >= level) this.#line(text)
  }

  /** Tells why the call ends without success. Only `-vvv` shows where in the program it happened. */
  failure(error: unknown): void {
    if (error instanceof Failure) {
      this.#line(`error: ${error.message}`)
      if (error.hint !== undefined) this.#line(`hint: ${error.hint}`)
    } else {
      this.#line(
        `error: this is a mistake in softsim: ${error instanceof Error ? error.message : String(error)}`,
      )
      this.#line(
        'hint: please report it where you have softsim from, with this line and what the same call prints with -vvv',
      )
    }
    if (this.level >= 3 && error instanceof Error) {
      for (const line of (error.stack ?? '').split('\n').slice(1)) this.#line(line)
    }
  }

  #line(text: string): void {
    const blotted = this.#secrets.reduce((kept, secret) => kept.replaceAll(secret, '***'), text)
    this.lastLine?.clear()
    this.#write(`softsim: ${printable(blotted)}\n`)
    this.lastLine?.render()
  }
}

/** The text on one line, with nothing in it that a terminal would obey. */
export function printable(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to escape
    /[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u{${character.charCodeAt(0).toString(16)}}`,
  )
}

/** Best effort: there is nowhere left to tell that standard error can't be written. */
export function writeStandardError(text: string): void {
  let bytes = Buffer.from(text)
  for (let tries = FULL_PIPE_TRIES; bytes.length > 0 && tries > 0; ) {
    try {
      bytes = bytes.subarray(writeSync(STANDARD_ERROR, bytes))
    } catch (error) {
      if (errnoOf(error) !== 'EAGAIN') return
      tries--
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FULL_PIPE_PAUSE_MS)
    }
  }
}
