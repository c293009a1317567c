/**
 * How many profiles may be under way at once: every one of them is lost if the line breaks. As in TCP (RFC 5681), a
 * window that grows while all goes well, and falls to the least when something breaks. Here it also has an upper end:
 * no more than the line brings in a few seconds. Pure functions; a call remembers the window it began with, so that
 * calls that ran side by side and say the same thing of the line change it once.
 */

/** The most profiles one request may ask for. */
export const LARGEST_BATCH = 1000

/** Enough calls side by side to hide the service's latency. */
const MOST_CALLS = 4

const MOST = MOST_CALLS * LARGEST_BATCH
const START = 100
const LEAST = 25
const STEP = 50

/** What is under way should be there in that time. */
const TARGET_MS = 10_000

/** A call that takes longer than this in all gets no larger, whatever kept it: a longer silence could break it. */
const LONG_MS = 60_000

export interface Window {
  /** Profiles under way at once. */
  readonly size: number
  /** Up to here it doubles, above it grows in steps: half of what broke last. */
  readonly threshold: number
}

/** What an answer says of the line. */
export interface Arrival {
  /** How many profiles it brought. */
  readonly count: number
  /** From its first byte to its last. */
  readonly bodyMs: number
  /** From the request to its last byte. */
  readonly totalMs: number
}

export const FIRST_WINDOW: Window = { size: START, threshold: MOST }

/** How many calls may run side by side: one until it asks for as many as it may. */
export const callsOf = ({ size }: Window) => Math.max(1, Math.floor(size / LARGEST_BATCH))

/** How many profiles one call asks for. */
export const batchOf = ({ size }: Window) => Math.min(size, LARGEST_BATCH)

/**
 * The window after an answer.
 * @param then the window that its call began with
 */
export function afterArrival(now: Window, then: Window, { count, bodyMs, totalMs }: Arrival): Window {
  // A short answer tells how long a full one would have taken.
  const fullMs = bodyMs * (batchOf(then) / Math.max(count, 1))
  const target = whole(then.size * (TARGET_MS / Math.max(fullMs, 1)))
  if (target < then.size) return { ...now, size: Math.min(now.size, target) }
  // Nor does it grow by what it has brought before it fell.
  if (totalMs > LONG_MS || then.size > now.size) return now
  const step = then.size < LARGEST_BATCH ? STEP : LARGEST_BATCH
  const grown = then.size < then.threshold ? Math.min(2 * then.size, then.threshold) : then.size + step
  return { ...now, size: Math.max(now.size, whole(Math.min(grown, target))) }
}

/**
 * The window after a call that was sent and brought nothing.
 * @param then the window that it began with
 */
export function afterBreak(then: Window): Window {
  return { size: LEAST, threshold: Math.max(LEAST, Math.floor(then.size / 2)) }
}

/** Above one full batch only whole batches count: else it would grow by what no call has tried. */
function whole(size: number): number {
  const within = Math.min(Math.max(Math.floor(size), LEAST), MOST)
  return within > LARGEST_BATCH ? within - (within % LARGEST_BATCH) : within
}
