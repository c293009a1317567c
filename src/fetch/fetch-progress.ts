import { durationOf, type Messages } from '../words.ts'

/** What a `fetch` waits for. */
interface Wait {
  /** When it is over, in milliseconds. */
  readonly until: number
  /** undefined when there is nothing more to say. */
  readonly words: (seconds: number) => string | undefined
}

/** Such a wait is said even if another line has just been. */
const LONG_MS = 10_000

/** What a user sees of a running `fetch`: how far it is, how long it will take, and why it waits. */
export class View {
  readonly #count: number
  readonly #tally: { readonly stored: number }
  readonly #messages: Messages
  readonly #note: () => void
  /** When profiles were stored first, and how many: there is no rate before there are more. */
  #first: { readonly at: number; readonly stored: number } | undefined
  #wait: Wait | undefined

  /**
   * @param tally says at any time how many profiles are stored
   * @param note is called when it has to wait
   */
  constructor(count: number, tally: { readonly stored: number }, messages: Messages, note: () => void) {
    this.#count = count
    this.#tally = tally
    this.#messages = messages
    this.#note = note
  }

  /** @param now in milliseconds, as everywhere here */
  noteLimit(ms: number, now: number): void {
    this.#wait = {
      until: now + ms,
      words: (seconds) => (seconds > 0 ? `waiting ${seconds} s for the rate limit` : undefined),
    }
    const isLong = ms >= LONG_MS
    this.#messages.tell(isLong ? 0 : 1, `waiting ${Math.ceil(ms / 1000)} s for the rate limit`)
    if (!isLong) this.#note()
  }

  /** @param tries which try is next, and how many there will be */
  noteRetry(reason: string, ms: number, tries: string, now: number): void {
    // The line is short, and the message that ends a fetch has the code of the error.
    const short = reason.replace(/ \([A-Z_]+\)$/, '')
    const when = (seconds: number) => (seconds > 0 ? `in ${seconds} s` : 'now')
    this.#wait = {
      until: now + ms,
      words: (seconds) => `${short}; trying again ${when(seconds)} (${tries})`,
    }
    this.#messages.tell(1, `${reason}; trying again in ${Math.ceil(ms / 1000)} s (${tries})`)
    this.#note()
  }

  noteRefused(entries: readonly string[]): void {
    for (const entry of entries) this.#messages.warn(`${entry}; not stored`)
  }

  noteStored(now: number): void {
    const { stored } = this.#tally
    this.#wait = undefined
    this.#first ??= { at: now, stored }
    this.#messages.tell(1, `${stored} of ${this.#count} profiles stored`)
  }

  /** One line, without its newline. */
  line(now: number): string {
    const { stored } = this.#tally
    const done = `${Math.floor((stored / this.#count) * 100)} % (${stored} of ${this.#count})`
    const wait = this.#wait
    const words =
      wait === undefined ? this.#left(now) : wait.words(Math.max(0, Math.ceil((wait.until - now) / 1000)))
    return words === undefined ? done : `${done}, ${words}`
  }

  #left(now: number): string | undefined {
    if (this.#first === undefined) return undefined
    const since = this.#tally.stored - this.#first.stored
    const leftMs = ((now - this.#first.at) / since) * (this.#count - this.#tally.stored)
    return since > 0 && leftMs > 0 ? `${durationOf(leftMs)} left` : undefined
  }
}
