/** What the headers of an answer say about the rate limit of the service, and about pauses. */

export type Headers = Readonly<Record<string, string | string[] | undefined>>

export interface Limit {
  /** Requests that are left until `waitMs` is over; undefined if the service does not say it. */
  readonly remaining: number | undefined
  /** From the answer until requests are allowed again. */
  readonly waitMs: number
}

const WINDOW_MS = 60_000

/** A longer pause ends the call: two windows are always enough, and nobody sits and waits for more. */
export const LONGEST_WAIT_MS = 2 * WINDOW_MS

/**
 * Reads `x-ratelimit-remaining`, `x-ratelimit-reset` and, with 429 or 503, `Retry-After` (RFC 9110 10.2.3). A time counts
 * only beside the service's own clock (`Date`), because the clock of this machine may be wrong. What has another form
 * is no header.
 */
export function readLimit(status: number, headers: Headers): Limit {
  const now = dateIn(headers['date'])
  const until = (time = Number.NaN) =>
    Number.isNaN(time) || now === undefined ? undefined : Math.max(0, time - now)
  if (status === 429 || status === 503) {
    const seconds = numberIn(headers['retry-after'])
    const waitMs = seconds === undefined ? until(dateIn(headers['retry-after'])) : seconds * 1000
    if (waitMs !== undefined) return { remaining: 0, waitMs }
  }
  // Unix time in seconds. Gateways also send milliseconds, or how many seconds are left; these can't be mixed up.
  const reset = numberIn(headers['x-ratelimit-reset']) ?? Number.NaN
  const waitMs = (reset < 1e9 ? reset * 1000 : until(reset < 1e11 ? reset * 1000 : reset)) ?? WINDOW_MS
  return { remaining: status === 429 ? 0 : numberIn(headers['x-ratelimit-remaining']), waitMs }
}

/** A number that is not negative. Fractions are rounded up. */
export const numberIn = (header: Headers[string]): number | undefined =>
  typeof header === 'string' && /^\d{1,15}(?:\.\d+)?$/.test(header) ? Math.ceil(Number(header)) : undefined

/** The three forms of a date in HTTP (RFC 9110 5.6.7). The third one does not say that it is in GMT. */
function dateIn(header: Headers[string]): number | undefined {
  if (typeof header !== 'string' || !/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [\w: -]+$/.test(header))
    return undefined
  const time = Date.parse(header.endsWith(' GMT') ? header : `${header} GMT`)
  return Number.isNaN(time) ? undefined : time
}
