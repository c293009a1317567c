/** Which calls are tried again, how often and for how long, when calls fail in a row. Pure functions. */
import { CallFailure } from '../service/call-failure.ts'

/** Between two tries of a call; how often it is tried is a matter of patience. Six pauses take about half a minute. */
export const PAUSES = {
  retries: Number.POSITIVE_INFINITY,
  minTimeout: 500,
  maxTimeout: 20_000,
  factor: 2,
  randomize: true,
} as const

/** So many calls in a row that may have cost profiles end it. */
const MOST_BROKEN = 6

/** At least so many calls that cost nothing, however long each took: the service may tell how long to wait. */
const FEWEST_FREE = 4

/** Something that has never worked will hardly begin to; a line that has worked is back when a router has started. */
const FIRST_PATIENCE_MS = 30_000
const PATIENCE_MS = 120_000

export interface Patience {
  /** Whether any call has ever been answered. */
  readonly hasWorked: boolean
  /** Failures since the last answer; those of calls that ran side by side count once. */
  readonly failures: number
  /** Of these, the ones that may have cost profiles. */
  readonly broken: number
  /** When the first of them was, in milliseconds. */
  readonly since: number
}

export const NEW_PATIENCE: Patience = { hasWorked: false, failures: 0, broken: 0, since: 0 }

export const RENEWED_PATIENCE: Patience = { ...NEW_PATIENCE, hasWorked: true }

/**
 * The patience after a failure.
 * @param then what it was when the call began
 * @param isBroken whether the call may have cost profiles
 * @param now in milliseconds
 */
export function afterFailure(patience: Patience, then: Patience, isBroken: boolean, now: number): Patience {
  return {
    hasWorked: patience.hasWorked,
    failures: Math.max(patience.failures, then.failures + 1),
    broken: Math.max(patience.broken, then.broken + (isBroken ? 1 : 0)),
    since: patience.failures === 0 ? now : patience.since,
  }
}

/** Whether to give up. */
export function isOver({ hasWorked, failures, broken, since }: Patience, now: number): boolean {
  if (broken >= MOST_BROKEN) return true
  return failures >= FEWEST_FREE && now - since >= (hasWorked ? PATIENCE_MS : FIRST_PATIENCE_MS)
}

/** Whether a call that failed is worth another try. */
export const isWorthAnotherTry = (error: unknown, patience: Patience, now: number): error is CallFailure =>
  error instanceof CallFailure && error.isPassing && !isOver(patience, now)
