/**
 * Limits how many profiles are requested at once, because all of them are lost if the connection breaks. As in TCP
 * (RFC 5681), the window grows while all goes well and drops to a minimum after a failure. It is also limited to what
 * the line delivers in a few seconds. Each request remembers the window it started with, so that parallel requests
 * with the same news change the window only once.
 */

/** The service's limit for one request. */
export const LARGEST_BATCH = 1000

/** Enough parallel requests to hide the latency of the service. */
const MOST_CALLS = 4

const MOST = MOST_CALLS * LARGEST_BATCH
const START = 100
const LEAST = 25
const STEP = 50

/** Everything requested should arrive within this time. */
const TARGET_MS = 10_000

/** On a line so fast that a request arrives in this time, the window grows eightfold, unless a request has failed. */
const FAST_MS = 250
const GROWTH = { fast: 8, normal: 2 }

/** A slower request does not widen the window, whatever the reason: a longer silence could break the connection. */
const LONG_MS = 60_000

export interface Window {
  /** Profiles requested at once. */
  readonly size: number
  /**
   * Below it, the window doubles, or grows faster on a fast line. Above it, the window grows in steps. A failure sets it to half the failed window.
   */
  readonly threshold: number
}

export interface Arrival {
  readonly count: number
  /** From the first byte of the body to the last. */
  readonly bodyMs: number
  /** From the request to the last byte. */
  readonly totalMs: number
}

export const FIRST_WINDOW: Window = { size: START, threshold: MOST }

/** How many requests may run in parallel: one, until full batches fit. */
export const callsOf = ({ size }: Window) => Math.max(1, Math.floor(size / LARGEST_BATCH))

export const batchOf = ({ size }: Window) => Math.min(size, LARGEST_BATCH)

/** @param then the window at the time of the request */
export function afterArrival(now: Window, then: Window, { count, bodyMs, totalMs }: Arrival): Window {
  // Estimates the time of a full answer from a short one.
  const fullMs = bodyMs * (batchOf(then) / Math.max(count, 1))
  const target = whole(then.size * (TARGET_MS / Math.max(fullMs, 1)))
  if (target < then.size) return { ...now, size: Math.min(now.size, target) }
  // An answer to a request from before a drop must not make the window grow either.
  if (totalMs > LONG_MS || then.size > now.size) return now
  const step = then.size < LARGEST_BATCH ? STEP : LARGEST_BATCH
  // The service may take the time, not the line: eight times as many could take eight times as long.
  const isFast = fullMs <= FAST_MS && GROWTH.fast * totalMs <= LONG_MS && then.threshold === MOST
  const growth = isFast ? GROWTH.fast : GROWTH.normal
  // One full batch comes before several at once.
  const most = Math.min(then.threshold, then.size < LARGEST_BATCH ? LARGEST_BATCH : MOST)
  const grown = then.size < then.threshold ? Math.min(growth * then.size, most) : then.size + step
  return { ...now, size: Math.max(now.size, whole(Math.min(grown, target))) }
}

/** @param then the window at the time of the request */
export function afterBreak(then: Window): Window {
  return { size: LEAST, threshold: Math.max(LEAST, Math.floor(then.size / 2)) }
}

/** Above one batch, only whole batches count. Otherwise the window would grow by sizes that no request has tried. */
function whole(size: number): number {
  const within = Math.min(Math.max(Math.floor(size), LEAST), MOST)
  return within > LARGEST_BATCH ? within - (within % LARGEST_BATCH) : within
}
