/**
 * Plans a download: pure functions make the next plan from an answer or a failure. A request remembers the plan that it
 * was sent with (`sent`), so that requests that run at once and fail together count as one. Times are in milliseconds.
 */
import type { CallFailure } from '../service/call-failure.ts'
import type { Limit } from '../service/rate-limit.ts'

/** The first request is small: a wrong key or a bad disk costs nothing more. */
const FIRST = 100
/** The service's limit for one request. */
export const LARGEST = 1000
const MOST_AT_ONCE = 4
/** Answers that are awaited or being stored: network and disk work at once, and memory stays bounded. */
const MOST_ANSWERS = 6
/** After a break, the size doubles up to half of what broke, and then grows by this. */
const STEP = 50

/** The download ends after this many failures in a row that may have cost profiles. */
const MOST_BROKEN = 6
/** What has never worked is unlikely to start working. What has worked may come back when a router has restarted. */
const MOST_TRIES = { refused: 4, first: 7, later: 11 }
/** For p-retry. */
export const PAUSES = { retries: 99, minTimeout: 500, maxTimeout: 20_000, randomize: true }

export const firstPlan = (missing: number) => ({
  /** Profiles that are neither stored nor requested. */
  missing,
  /** What the next request asks for, if so many are missing. */
  size: FIRST,
  /** Half of the size that broke last. */
  half: undefined as number | undefined,
  /** Whether a request of the largest size was answered, and none broke since. */
  isProven: false,
  hasWorked: false,
  /** Failures since the last answer that may have cost profiles. */
  broken: 0,
  /** Requests that the rate limit allows at once. Less than 1: none before `resetAt`. */
  allowed: 1,
  resetAt: 0,
})
export type Plan = Readonly<ReturnType<typeof firstPlan>>

/** After a reset, what the rate limit allows is not known, and one request alone learns it. */
export const atOnce = ({ isProven, allowed }: Plan): number =>
  isProven ? Math.max(1, Math.min(MOST_AT_ONCE, allowed)) : 1

/** Whether another request may begin, while so many are not answered, and so many answers are not stored. */
export const mayBegin = (plan: Plan, requests: number, answers: number): boolean =>
  plan.missing > 0 && requests < atOnce(plan) && answers < MOST_ANSWERS

/** How long the rate limit makes the next request wait. */
export const waitMs = ({ allowed, resetAt }: Plan, now: number): number =>
  allowed < 1 ? Math.max(0, resetAt - now) : 0

export const nextSize = ({ missing, size }: Plan): number => Math.max(0, Math.min(missing, size))

export const afterSending = (plan: Plan): Plan => ({ ...plan, missing: plan.missing - nextSize(plan) })

export const afterAnswer = (plan: Plan, sent: Plan, limit: Limit, now: number): Plan => ({
  ...{ ...plan, ...allowedBy(limit, now), hasWorked: true, broken: 0 },
  // An answer to a request from before a break says nothing.
  size: sent.size > plan.size ? plan.size : Math.max(plan.size, grown(sent)),
  isProven: plan.isProven || (sent.size === LARGEST && plan.size === LARGEST),
})

function grown({ size, half }: Plan): number {
  if (half === undefined) return LARGEST
  return size < half ? Math.min(2 * size, half) : Math.min(2 * size, size + STEP, LARGEST)
}

export function afterFailure(plan: Plan, sent: Plan, { traits }: CallFailure, now: number): Plan {
  const asked = nextSize(sent)
  const isBroken = traits.mayHaveAllocated === true
  return {
    ...plan,
    // Without an answer, the service may have counted the request.
    ...(traits.limit === undefined ? { allowed: plan.allowed - 1 } : allowedBy(traits.limit, now)),
    missing: plan.missing + asked,
    size: isBroken ? 1 : plan.size,
    isProven: plan.isProven && !isBroken,
    half: isBroken && asked > 1 ? Math.ceil(asked / 2) : plan.half,
    broken: Math.max(plan.broken, sent.broken + (isBroken ? 1 : 0)),
  }
}

/** Whether a request that has failed so many times is worth another try. */
export function isWorthAnotherTry(plan: Plan, { traits }: CallFailure, tries: number): boolean {
  const most = MOST_TRIES[plan.hasWorked ? 'later' : traits.isRefused ? 'refused' : 'first']
  return traits.isPassing === true && plan.missing > 0 && plan.broken < MOST_BROKEN && tries < most
}

/** Requests that are under way are among those that are left: they may not be counted yet. */
function allowedBy({ remaining = Number.POSITIVE_INFINITY, waitMs }: Limit, now: number) {
  return { allowed: remaining, resetAt: now + waitMs }
}
