/**
 * Every message to the user. The rules:
 * - Messages go to standard error. Standard output belongs to the device.
 * - Each message is one line: `softsim: `, lower case, no full stop. A hint line says what to do next.
 * - Secrets are masked and control characters are escaped here, so that no caller can forget to do it.
 */
import type { Failure } from '../failure.ts'
import { hiding, type Level, type Messages, printable } from '../words.ts'
import { writeStandardError } from './streams.ts'

const SHORTEST_SECRET = 4

/** What failures say in place of the value of a variable. */
const NOT_NAMED: Readonly<Record<string, string>> = { SOFTSIM_API_KEY: 'API key', SOFTSIM_URL: 'the service' }

/** What may be a secret is not among the groups: the user and what is behind the path. */
const URL_PARTS = /^(https?:\/\/)(?:[^/]*@)?([^?#]*).*/i

/** Whether a text has a value as a word. A number stands for too many things. */
const isNamedIn = (text: string, value: string): boolean =>
  /\D/.test(value) &&
  RegExp(`(?<![\\w.-])${value.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}(?![\\w-])`).test(text)

export class Report implements Messages {
  /** 0: warnings and failures, 1: each step, 2: each request and file, 3: everything except secrets. */
  level = 0
  /** The progress line, which stays below all messages. */
  lastLine: { clear(): void; render(): void } | undefined
  readonly #secrets: string[] = []
  /** Made with the first message: most calls of `next` have none. */
  #hide: ((text: string) => string)[] | undefined
  /** The values that came from environment variables, by the names of these. */
  readonly #variables = new Map<string, string>()
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

  /** From now on, a failure that concerns this value says which variable it came from: nobody has typed it. */
  cameFrom(variable: string, value: string): void {
    this.#variables.set(variable, value)
  }

  warn(text: string): void {
    this.#line(`warning: ${text}`)
  }

  tell(level: Level, text: string): void {
    if (this.level >= level) this.#line(text)
  }

  /**
   * Prints why the command failed. Only `-vvv` adds the stack trace.
   * @param thrown what was thrown, if the failure is only its description
   */
  failure(failure: Failure, thrown: unknown = failure): void {
    const { message, hint } = failure
    this.#line(`error: ${message}`)
    for (const line of [...hint.split('\n'), ...this.#originsOf(failure)]) this.#line(`hint: ${line}`)
    // V8 makes the stack trace when it is read, which takes as long as a tenth of a call.
    if (this.level < 3 || !(thrown instanceof Error)) return
    for (const line of (thrown.stack ?? '').split('\n').slice(1)) this.#line(line)
  }

  #originsOf({ message, hint }: Failure): string[] {
    const said = `${message} ${hint}`
    return [...this.#variables].flatMap(([variable, value]) => {
      const isMeant = isNamedIn(said, NOT_NAMED[variable] ?? value) && !said.includes(variable)
      return isMeant ? [`the environment variable ${variable} says ${value.replace(URL_PARTS, '$1$2')}`] : []
    })
  }

  #line(text: string): void {
    this.#hide ??= this.#secrets.map(hiding)
    const blotted = this.#hide.reduce((kept, hide) => hide(kept), text)
    this.lastLine?.clear()
    this.#write(`softsim: ${printable(blotted)}\n`)
    this.lastLine?.render()
  }
}
