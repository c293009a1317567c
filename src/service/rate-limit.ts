/** What the headers of a response say of the rate limit of the service. */
import type { Limit } from './call-failure.ts'

export type Headers = Readonly<Record<string, string | string[] | undefined>>

const WINDOW_MS = 60_000

/** Twice the window is always enough, and no answer can cause a longer wait. */
const LONGEST_WAIT_MS = 2 * WINDOW_MS

/**
 * Reads `x-ratelimit-remaining`, `x-ratelimit-reset` (Unix epoch, seconds) and, with 429 or 503, `Retry-After` (RFC
 * 9110 10.2.3). Times are based on the service's clock (its `Date` header), because the clock of this machine may be
 * wrong.
 * @param now the clock of this machine in milliseconds, used if the answer has no date
 */
export function readLimit(status: number, headers: Headers, now: number): Limit {
  const serviceNow = parseDate(headers['date']) ?? now
  const reset = parseWhole(headers['x-ratelimit-reset'])
  const untilReset = reset === undefined ? undefined : bounded(reset * 1000 - serviceNow)
  const remaining = parseWhole(headers['x-ratelimit-remaining'])
  const asked = askedMs(status, headers, serviceNow)
  if (asked !== undefined) return { remaining: 0, waitMs: bounded(asked) }
  if (status === 429) return { remaining: 0, waitMs: untilReset ?? WINDOW_MS }
  // A 503 while requests are left does not say when to retry.
  return { remaining, waitMs: untilReset }
}

/**
 * How long the service asks to wait, in milliseconds, if that is longer than any wait here. A date counts only beside
 * the service's own, because the clock of this machine may be wrong.
 */
export function tooLongAskedMs(status: number, headers: Headers): number | undefined {
  const ms = askedMs(status, headers, parseDate(headers['date'])) ?? 0
  return ms > LONGEST_WAIT_MS ? ms : undefined
}

/** @param now in milliseconds; undefined if no clock can be trusted */
function askedMs(status: number, headers: Headers, now: number | undefined): number | undefined {
  if (status !== 429 && status !== 503) return undefined
  const asked = headers['retry-after']
  const seconds = parseWhole(asked)
  if (seconds !== undefined) return seconds * 1000
  const date = parseDate(asked)
  return date === undefined || now === undefined ? undefined : date - now
}

const bounded = (ms: number) => Math.min(Math.max(ms, 0), LONGEST_WAIT_MS)

function parseWhole(header: Headers[string]): number | undefined {
  return typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : undefined
}

function parseDate(header: Headers[string]): number | undefined {
  const time = typeof header === 'string' ? Date.parse(header) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}
