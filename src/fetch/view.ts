/** What a `fetch` waits for. */
interface Wait {
  /** When it is over, in milliseconds. */
  readonly until: number
  readonly words: (seconds: number) => string
}

/** What a user sees of a running `fetch`: how far it is, how long it will take, and why it waits. */
export class View {
  readonly #count: number
  readonly #stored: () => number
  readonly #began: number
  #wait: Wait | undefined

  /**
   * @param stored returns how many profiles are stored
   * @param now in milliseconds, as everywhere here
   */
  constructor(count: number, stored: () => number, now: number) {
    this.#count = count
    this.#stored = stored
    this.#began = now
  }

  noteLimit(ms: number, now: number): void {
    this.#wait = { until: now + ms, words: (seconds) => `waiting ${seconds} s for the rate limit` }
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
  }

  noteStored(): void {
    this.#wait = undefined
  }

  /** One line, without its newline. */
  line(now: number): string {
    const stored = this.#stored()
    const percent = Math.floor((stored / this.#count) * 100)
    const done = `${percent} % (${stored} of ${this.#count})`
    if (this.#wait !== undefined) {
      const { until, words } = this.#wait
      return `${done}, ${words(Math.max(0, Math.ceil((until - now) / 1000)))}`
    }
    const leftMs = ((now - this.#began) / stored) * (this.#count - stored)
    return stored === 0 || leftMs <= 0 ? done : `${done}, ${durationOf(leftMs)} left`
  }
}

/** Rounded up, in the unit that a person would use. */
function durationOf(ms: number): string {
  const seconds = Math.ceil(ms / 1000)
  if (seconds < 100) return `${seconds} s`
  const minutes = Math.ceil(seconds / 60)
  return minutes < 100 ? `${minutes} min` : `${Math.ceil(minutes / 60)} h`
}
