/** Which calls are retried, and how often and how long, when requests fail in a row. Pure functions. */
import { CallFailure } from '../service/call-failure.ts'

/** Pauses between two attempts. `isOver` limits their number. Six pauses take about half a minute. */
export const PAUSES = {
  retries: Number.POSITIVE_INFINITY,
  minTimeout: 500,
  maxTimeout: 20_000,
  factor: 2,
  randomize: true,
} as const

/** The download ends after this many failures in a row that may have cost profiles. */
const MOST_BROKEN = 6

/** At least this many attempts, however long each one takes: the service may ask for a wait. */
const FEWEST_FREE = 4

/** What has never worked is unlikely to start working. What has worked may come back when a router has restarted. */
const FIRST_PATIENCE_MS = 30_000
const PATIENCE_MS = 120_000

export interface Patience {
  readonly hasWorked: boolean
  /** Failures since the last answer. Failures of parallel requests count once. */
  readonly failures: number
  /** How many of them may have cost profiles. */
  readonly broken: number
  /** When the first of them happened, in milliseconds. */
  readonly since: number
}

export const NEW_PATIENCE: Patience = { hasWorked: false, failures: 0, broken: 0, since: 0 }

export const RENEWED_PATIENCE: Patience = { ...NEW_PATIENCE, hasWorked: true }

/**
 * @param then the patience when the request was sent
 * @param isBroken whether the request may have cost profiles
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

export function isOver({ hasWorked, failures, broken, since }: Patience, now: number): boolean {
  if (broken >= MOST_BROKEN) return true
  return failures >= FEWEST_FREE && now - since >= longestMs(hasWorked)
}

/** Which try is next, and how many or how long there will be, for people. */
export const triesOf = ({ hasWorked, failures, broken }: Patience) =>
  `try ${failures + 1}${broken === failures ? ` of ${MOST_BROKEN}` : `, up to ${longestMs(hasWorked) / 1000} s`}`

const longestMs = (hasWorked: boolean) => (hasWorked ? PATIENCE_MS : FIRST_PATIENCE_MS)

/** Whether a call that failed is worth another try. */
export const isWorthAnotherTry = (error: unknown, patience: Patience, now: number): error is CallFailure =>
  error instanceof CallFailure && error.isPassing && !isOver(patience, now)
