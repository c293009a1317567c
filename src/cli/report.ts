/**
 * Every message to the user. The rules:
 * - Messages go to standard error. Standard output belongs to the device.
 * - Each message is one line: `softsim: `, lower case, no full stop. A hint line says what to do next.
 * - Secrets are masked and control characters are escaped here, so that no caller can forget to do it.
 */
import { Failure } from '../failure.ts'
import { hiding } from '../secret.ts'
import { type Level, type Messages, printable } from '../words.ts'
import { type Origin, originHints } from './commands/origins.ts'
import { writeStandardError } from './terminal/standard-error.ts'

const SHORTEST_SECRET = 4

export class Report implements Messages {
  /** 0: warnings and failures, 1: each step, 2: each request and file, 3: everything except secrets. */
  level = 0
  /** The options whose values are from the environment. */
  origins: readonly Origin[] = []
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
  hide(secret: string | undefined): void {
    if (secret === undefined || secret.length < SHORTEST_SECRET) return
    this.#secrets.push(secret)
    // Longer secrets first, because one secret can be a prefix of another.
    this.#secrets.sort((a, b) => b.length - a.length)
    this.#hide = undefined
  }

  warn(text: string): void {
    this.#line(`warning: ${text}`)
  }

  tell(level: Level, text: string): void {
    if (this.level >= level) this.#line(text)
  }

  /** Prints why the command failed. Only `-vvv` adds the stack trace. */
  failure(error: unknown): void {
    if (error instanceof Failure) {
      this.#line(`error: ${error.message}`)
      for (const line of error.hint.split('\n')) this.#line(`hint: ${line}`)
      for (const line of originHints(error, this.origins)) this.#line(`hint: ${line}`)
    } else {
      this.#line(
        `error: internal error in softsim: ${error instanceof Error ? error.message : String(error)}`,
      )
      this.#line(
        'hint: report it where you got softsim; include the line above and the output of the same command with -vvv',
      )
    }
    if (this.level >= 3 && error instanceof Error) {
      for (const line of (error.stack ?? '').split('\n').slice(1)) this.#line(line)
    }
  }

  #line(text: string): void {
    this.#hide ??= this.#secrets.map(hiding)
    const blotted = this.#hide.reduce((kept, hide) => hide(kept), text)
    this.lastLine?.clear()
    this.#write(`softsim: ${printable(blotted)}\n`)
    this.lastLine?.render()
  }
}
