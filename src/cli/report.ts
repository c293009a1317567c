/**
 * Every message to the user. The rules:
 * - Messages go to standard error. Standard output belongs to the device.
 * - Each message is one line: `softsim: `, lower case, no full stop. A hint line says what to do next.
 * - Secrets are masked and control characters are escaped here, so that no caller can forget to do it.
 */

import type { Advice } from '../advice/advice.ts'
import { WARNINGS, type WarningKind } from '../advice/warnings.ts'
import { hiding } from '../secret.ts'
import { type Level, type Messages, printable } from '../words.ts'
import { writeStandardError } from './terminal/streams.ts'

const SHORTEST_SECRET = 4

export class Report implements Messages {
  /** 0: warnings and failures, 1: each step, 2: each request and file, 3: everything except secrets. */
  level = 0
  /** The progress line, which stays below all messages. */
  lastLine: { clear(): void; render(): void } | undefined
  readonly #secrets: string[] = []
  /** Made with the first message: most calls of `next` have none. */
  #hide: ((text: string) => string)[] | undefined
  readonly #write: (text: string) => void

  constructor(write: (text: string) => void = writeStandardError) {
    this.#write = write
  }

  /** From now on, masks this text in every message, however it is escaped. */
  hide(text = ''): void {
    const secret = text.trim()
    if (secret.length < SHORTEST_SECRET) return
    this.#secrets.push(secret)
    // Longer secrets first, because one secret can be a prefix of another.
    this.#secrets.sort((a, b) => b.length - a.length)
    this.#hide = undefined
  }

  warn(text: string, kind?: WarningKind, subject = ''): void {
    const advice = kind === undefined ? '' : WARNINGS[kind]
    this.#line(`warning: ${text}${typeof advice === 'string' ? advice : advice(subject)}`)
  }

  tell(level: Level, text: string): void {
    if (this.level >= level) this.#line(text)
  }

  /** Prints why the command failed. Only `-vvv` adds the stack trace. */
  failure({ message, hint }: Advice, error: unknown): void {
    this.#line(`error: ${message}`)
    for (const line of hint.split('\n')) this.#line(`hint: ${line}`)
    // V8 makes the stack trace when it is read, which takes as long as a tenth of a call.
    if (this.level < 3 || !(error instanceof Error)) return
    for (const line of (error.stack ?? '').split('\n').slice(1)) this.#line(line)
  }

  #line(text: string): void {
    this.#hide ??= this.#secrets.map(hiding)
    const blotted = this.#hide.reduce((kept, hide) => hide(kept), text)
    this.lastLine?.clear()
    this.#write(`softsim: ${printable(blotted)}\n`)
    this.lastLine?.render()
  }
}
