/**
 * Plans a download: pure functions make the next plan from an answer or a failure. A request remembers the plan that it
 * was sent with (`sent`), so that requests that run at once and fail together count as one. Times are in milliseconds.
 */
import type { Limit } from '../service/answer.ts'
import type { CallFailure } from '../service/call-failure.ts'

/** The first request is small: a wrong key or a bad disk costs nothing more. */
const FIRST = 100
/** The service's limit for one request. */
export const LARGEST = 1000
const MOST_AT_ONCE = 4
/** Requests, and answers that are being stored: network and disk work at once, and memory stays bounded. */
const MOST_RUNNING = 6

/** What has never worked is unlikely to start working. What has worked may come back when a router has restarted. */
const MOST_TRIES = { refused: 4, first: 7, later: 11 }
/** The pause after a failure, which doubles with each further one in a row. */
const [PAUSE_MS, LONGEST_PAUSE_MS] = [500, 20_000]

export const firstPlan = (missing: number) => ({
  /** Profiles that are neither stored nor requested. */
  missing,
  /** What the next request asks for, if so many are missing. */
  size: FIRST,
  /** What a request asks for at most: half of what broke, if that was more than the first one. */
  most: LARGEST,
  /** Whether a request for that many was answered, and none broke since. */
  isProven: false,
  hasWorked: false,
  /** Failures since the last answer. */
  failed: 0,
  /** Requests that are allowed at once. Less than 1: none before `resetAt`. */
  allowed: 1,
  resetAt: 0,
  /** Why none is allowed. */
  why: '',
})
export type Plan = Readonly<ReturnType<typeof firstPlan>>

/** After a pause, what is allowed is not known, and one request alone learns it. */
export const atOnce = ({ isProven, allowed }: Plan): number =>
  isProven ? Math.max(1, Math.min(MOST_AT_ONCE, allowed)) : 1

/** Nothing else is requested before the first profiles are stored. */
export const mayBegin = ({ missing }: Plan, running: number, stored: number): boolean =>
  missing > 0 && running < (stored > 0 ? MOST_RUNNING : 1)

/** How long the next request has to wait. */
export const waitMs = ({ missing, allowed, resetAt }: Plan, now: number): number =>
  missing > 0 && allowed < 1 ? Math.max(0, resetAt - now) : 0

export const nextSize = ({ missing, size }: Plan): number => Math.max(0, Math.min(missing, size))

export const afterSending = (plan: Plan): Plan => ({ ...plan, missing: plan.missing - nextSize(plan) })

export function afterAnswer(plan: Plan, sent: Plan, limit: Limit, now: number): Plan {
  const { most } = plan
  // An answer to a request from before a failure says nothing, and does not end the pause after it.
  if (sent.failed < plan.failed) return { ...plan, hasWorked: true }
  const grown = sent.size < FIRST ? Math.min(2 * sent.size, most) : most
  return {
    ...plan,
    size: sent.size > plan.size ? plan.size : Math.max(plan.size, grown),
    isProven: plan.isProven || (sent.size === most && plan.size === most),
    hasWorked: true,
    failed: 0,
    // Requests that are under way are among those that are left: they may not be counted yet.
    allowed: limit.remaining ?? Number.POSITIVE_INFINITY,
    resetAt: now + limit.waitMs,
    why: 'the rate limit is reached',
  }
}

export function afterFailure(plan: Plan, sent: Plan, { traits, message }: CallFailure, now: number): Plan {
  const asked = nextSize(sent)
  const isBroken = traits.mayHaveAllocated === true
  const failed = Math.max(plan.failed, sent.failed + 1)
  const pauseMs = Math.min(PAUSE_MS * 2 ** (failed - 1), LONGEST_PAUSE_MS)
  return {
    ...plan,
    missing: plan.missing + asked,
    size: isBroken ? 1 : plan.size,
    most: isBroken && asked > FIRST ? Math.min(plan.most, Math.ceil(asked / 2)) : plan.most,
    isProven: plan.isProven && !isBroken,
    failed,
    allowed: 0,
    resetAt: now + Math.max(pauseMs, traits.pauseMs ?? 0, waitMs(plan, now)),
    why: message,
  }
}

/** Whether to try again after such a failure. */
export function isWorthAnotherTry({ hasWorked, failed }: Plan, { traits }: CallFailure): boolean {
  const most = MOST_TRIES[hasWorked ? 'later' : traits.isRefused ? 'refused' : 'first']
  return traits.isPassing === true && failed < most
}
