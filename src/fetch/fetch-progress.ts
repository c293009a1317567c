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

export type View = ReturnType<typeof viewOf>

/**
 * What a user sees of a running `fetch`: how far it is, how long it will take, and why it waits.
 * @param tally says at any time how many profiles are stored
 * @param note is called when it has to wait
 */
export function viewOf(
  count: number,
  tally: { readonly stored: number },
  messages: Messages,
  note: () => void,
) {
  /** When profiles were stored first, and how many: there is no rate before there are more. */
  let first: { readonly at: number; readonly stored: number } | undefined
  let wait: Wait | undefined

  function left(now: number): string | undefined {
    if (first === undefined) return undefined
    const since = tally.stored - first.stored
    const leftMs = ((now - first.at) / since) * (count - tally.stored)
    return since > 0 && leftMs > 0 ? `${durationOf(leftMs)} left` : undefined
  }

  return {
    /** @param now in milliseconds, as everywhere here */
    noteLimit(ms: number, now: number): void {
      const words = (seconds: number) => `waiting ${seconds} s for the rate limit`
      wait = { until: now + ms, words: (seconds) => (seconds > 0 ? words(seconds) : undefined) }
      const isLong = ms >= LONG_MS
      messages.tell(isLong ? 0 : 1, words(Math.ceil(ms / 1000)))
      if (!isLong) note()
    },

    /** @param tries which try is next, and how many there will be */
    noteRetry(reason: string, ms: number, tries: string, now: number): void {
      // The line is short, and the message that ends a fetch has the code of the error.
      const short = reason.replace(/ \([A-Z_]+\)$/, '')
      const when = (seconds: number) => (seconds > 0 ? `in ${seconds} s` : 'now')
      wait = { until: now + ms, words: (seconds) => `${short}; trying again ${when(seconds)} (${tries})` }
      messages.tell(1, `${reason}; trying again in ${Math.ceil(ms / 1000)} s (${tries})`)
      note()
    },

    noteRefused(entries: readonly string[]): void {
      for (const entry of entries) messages.warn(`${entry}; not stored`)
    },

    noteStored(now: number): void {
      wait = undefined
      first ??= { at: now, stored: tally.stored }
      messages.tell(1, `${tally.stored} of ${count} profiles stored`)
    },

    /** One line, without its newline. */
    line(now: number): string {
      const { stored } = tally
      const done = `${Math.floor((stored / count) * 100)} % (${stored} of ${count})`
      const words = wait ? wait.words(Math.max(0, Math.ceil((wait.until - now) / 1000))) : left(now)
      return words === undefined ? done : `${done}, ${words}`
    },
  }
}
