/** The limit's window is a minute: twice that is never too short, and no answer can put us to sleep for longer. */
const LONGEST_WAIT_MS = 120_000

/** What an answer says of the calls that may follow it. */
export interface Limit {
  /** Calls left before `waitMs` is over; undefined where the answer does not say. */
  readonly remaining: number | undefined
  /** Milliseconds from the answer until calls are allowed again; undefined where it does not say. */
  readonly waitMs: number | undefined
}

type Headers = Readonly<Record<string, string | string[] | undefined>>

/**
 * Reads `x-ratelimit-remaining`, `x-ratelimit-reset` (Unix epoch, seconds) and, on a 429 or 503, `Retry-After`
 * (RFC 9110 10.2.3). Times are reckoned on the service's own clock, its `Date` header: this machine's may be wrong.
 * @param now this machine's clock, in milliseconds, for an answer without a date
 */
export function readLimit(status: number, headers: Headers, now: number): Limit {
  const serviceNow = parseDate(headers['date']) ?? now
  const reset = parseWhole(headers['x-ratelimit-reset'])
  const untilReset = reset === undefined ? undefined : bounded(reset * 1000 - serviceNow)
  const remaining = parseWhole(headers['x-ratelimit-remaining'])
  const asked = status === 429 || status === 503 ? retryAfter(headers['retry-after'], serviceNow) : undefined
  if (asked !== undefined) return { remaining: 0, waitMs: asked }
  // A service that is unavailable while calls are left says nothing about when to come back.
  return { remaining: status === 429 && untilReset !== undefined ? 0 : remaining, waitMs: untilReset }
}

function retryAfter(header: Headers[string], serviceNow: number): number | undefined {
  const seconds = parseWhole(header)
  if (seconds !== undefined) return bounded(seconds * 1000)
  const date = parseDate(header)
  return date === undefined ? undefined : bounded(date - serviceNow)
}

const bounded = (ms: number) => Math.min(Math.max(ms, 0), LONGEST_WAIT_MS)

function parseWhole(header: Headers[string]): number | undefined {
  return typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : undefined
}

function parseDate(header: Headers[string]): number | undefined {
  const time = typeof header === 'string' ? Date.parse(header) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}
