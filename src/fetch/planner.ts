/**
 * Plans a download: how many profiles the next request asks for, how many requests run at once, which failures are
 * tried again, and when. A plan is a value: pure functions make the next one from an answer or a failure.
 *
 * If the connection breaks, all profiles that are requested at once may be lost. As in TCP (RFC 5681), their number
 * grows while all goes well, and drops after a failure: to one, until two requests in a row succeed, so that a failure
 * costs at most what has arrived since the one before. It is also limited to what the line delivers in a few seconds.
 * A request remembers the plan that it was sent with (`sent`), so that parallel requests with the same news change the
 * plan only once.
 */
import { CallFailure, type Limit } from '../service/call-failure.ts'
import type { Batch } from '../service/response.ts'

/** The service's limit for one request. */
export const LARGEST_BATCH = 1000

/** Enough parallel requests to hide the latency of the service. */
const MOST_REQUESTS = 4

/** Answers that are pending or being stored. Network and disk work in parallel, and memory use stays bounded. */
export const MOST_ANSWERS = 6

const MOST = MOST_REQUESTS * LARGEST_BATCH
const START = 100
const PROBE = 1
const STEP = 50
/** The number grows to so few in any case. */
const FEW = 25

/** Everything requested should arrive within this time. */
const TARGET_MS = 10_000

/** On a line so fast that a request arrives in this time, the number grows eightfold, unless a request has failed. */
const FAST_MS = 250
const GROWTH = { fast: 8, normal: 2 }

/** After a slower request, nothing grows, whatever the reason: a longer silence could break the connection. */
const LONG_MS = 60_000

/** Pauses before the next try. `isWorthAnotherTry` limits their number. Six pauses take about half a minute. */
export const PAUSES = {
  retries: Number.POSITIVE_INFINITY,
  minTimeout: 500,
  maxTimeout: 20_000,
  randomize: true,
} as const

/** The download ends after this many failures in a row that may have cost profiles. */
const MOST_BROKEN = 6

/** At least this many tries, however long each one takes: the service may ask for a wait. */
const FEWEST_TRIES = 4

/** What has never worked is unlikely to start working. What has worked may come back when a router has restarted. */
const PATIENCE_MS = { refused: 3000, first: 30_000, later: 120_000 }

/** With more, the download ends if they are also more than half of what was received. Each may be paid for. */
const MOST_REFUSED = 100
/** Times are in milliseconds. */
export interface Plan {
  /** Profiles that are neither stored nor requested. */
  readonly missing: number
  /** Profiles that may be requested at once, by all requests together. */
  readonly window: number
  /** Up to here, `window` doubles, or grows faster on a fast line; then it grows in steps. Half of what broke last. */
  readonly threshold: number
  /** Requests that the rate limit allows at once. Less than 1: none before `resetAt`. */
  readonly allowed: number
  readonly resetAt: number
  readonly hasWorked: boolean
  /** Failures since the last answer. Failures of parallel requests count once. */
  readonly failures: number
  /** How many of them may have cost profiles. */
  readonly broken: number
  /** When the first of them happened. */
  readonly since: number
  /** Entries of the answers that are stored. */
  readonly received: number
  /** How many of them are not profiles. */
  readonly refused: number
}

/** The first request is alone and small: its answer shows the rate limit and the speed of the line. */
export const firstPlan = (count: number): Plan => ({
  missing: count,
  window: START,
  threshold: MOST,
  allowed: 1,
  resetAt: 0,
  hasWorked: false,
  failures: 0,
  broken: 0,
  since: 0,
  received: 0,
  refused: 0,
})

/**
 * How many requests may run at once: one, until full batches fit, and no more than the rate limit allows. After a reset,
 * the limit is unknown, and one request alone learns it.
 */
export const requestsAtOnce = ({ window, allowed }: Plan) =>
  Math.max(1, Math.min(Math.floor(window / LARGEST_BATCH), allowed))

/** Whether another request may begin, while so many have no answer, and so many answers are not stored. */
export const mayBegin = (plan: Plan, requests: number, answers: number) =>
  plan.missing > 0 && requests < requestsAtOnce(plan) && answers < (plan.received > 0 ? MOST_ANSWERS : 1)

/** How long the rate limit makes the next request wait. */
export const waitMs = ({ allowed, resetAt }: Plan, now: number) =>
  allowed < 1 ? Math.max(0, resetAt - now) : 0

/** How many profiles the next request asks for. */
export const nextSize = ({ missing, window }: Plan) => Math.max(0, Math.min(missing, withinBatch(window)))

export const afterSending = (plan: Plan): Plan => ({ ...plan, missing: plan.missing - nextSize(plan) })

export function afterAnswer(plan: Plan, sent: Plan, batch: Batch, now: number): Plan {
  const { profiles, refused, limit } = batch
  // A service that sends mostly what can't be used is not asked for more at once.
  const window = refused.length > profiles.length ? plan.window : grown(plan, sent, batch)
  return { ...plan, ...allowedBy(limit, now), window, hasWorked: true, failures: 0, broken: 0 }
}

export function afterFailure(plan: Plan, sent: Plan, error: unknown, now: number): Plan {
  const failure = error instanceof CallFailure ? error : undefined
  const isBroken = failure?.mayHaveAllocated === true
  const next = {
    ...plan,
    // Without an answer, the service may have counted the request.
    ...(failure?.limit === undefined ? { allowed: plan.allowed - 1 } : allowedBy(failure.limit, now)),
    missing: plan.missing + nextSize(sent),
    failures: Math.max(plan.failures, sent.failures + 1),
    broken: Math.max(plan.broken, sent.broken + (isBroken ? 1 : 0)),
    since: plan.failures === 0 ? now : plan.since,
  }
  if (!isBroken) return next
  // A failed probe says nothing about the size that breaks.
  const half = sent.window > PROBE ? Math.max(FEW, Math.floor(sent.window / 2)) : plan.threshold
  return { ...next, window: PROBE, threshold: half }
}

/** @param stored how many new profiles the answer has brought */
export const afterStoring = (plan: Plan, sent: Plan, batch: Batch, stored: number): Plan => ({
  ...plan,
  missing: plan.missing + nextSize(sent) - stored,
  received: plan.received + batch.profiles.length + batch.refused.length,
  refused: plan.refused + batch.refused.length,
})

/** @param stored how many new profiles an answer has brought that broke off */
export const afterPart = (plan: Plan, stored: number): Plan => ({
  ...plan,
  missing: Math.max(0, plan.missing - stored),
})

export const isMostlyRefused = ({ received, refused }: Plan) =>
  refused > MOST_REFUSED && refused > received / 2

/** Whether a request that failed is worth another try. */
export function isWorthAnotherTry(plan: Plan, error: unknown, now: number): error is CallFailure {
  const { failures, broken, since } = plan
  const isOver = broken >= MOST_BROKEN || (failures >= FEWEST_TRIES && now - since >= patienceMs(plan, error))
  return error instanceof CallFailure && error.isPassing && !isOver
}

/** Which try is next, and how many or how long there will be, for people. */
export const triesOf = (plan: Plan, error: unknown) =>
  `try ${plan.failures + 1}${plan.broken === plan.failures ? ` of ${MOST_BROKEN}` : `, up to ${patienceMs(plan, error) / 1000} s`}`

function patienceMs({ hasWorked }: Plan, error: unknown): number {
  if (hasWorked) return PATIENCE_MS.later
  return error instanceof CallFailure && error.isRefused ? PATIENCE_MS.refused : PATIENCE_MS.first
}

/** Pending requests are among those that are left: they may not be counted yet. */
const allowedBy = ({ remaining = Number.POSITIVE_INFINITY, waitMs = 0 }: Limit, now: number) => ({
  allowed: remaining,
  resetAt: now + waitMs,
})

const withinBatch = (profiles: number) => Math.min(profiles, LARGEST_BATCH)

/** How many profiles may be requested at once after an answer. */
function grown(now: Plan, sent: Plan, { profiles, bodyMs, totalMs }: Batch): number {
  // Estimates the time of a full answer from a short one.
  const fullMs = bodyMs * (withinBatch(sent.window) / Math.max(profiles.length, 1))
  const target = wholeBatches(sent.window * (TARGET_MS / Math.max(fullMs, 1)))
  if (target < sent.window) return Math.min(now.window, target)
  // One answer is not enough: if every second request failed, each failure would cost two profiles for one that came.
  if (sent.broken > 0) return now.window
  // An answer to a request from before a drop must not make it grow either.
  if ((totalMs > LONG_MS && sent.window >= FEW) || sent.window > now.window) return now.window
  const step = sent.window < LARGEST_BATCH ? STEP : LARGEST_BATCH
  // The service may take the time, not the line: eight times as many could take eight times as long.
  const isFast = fullMs <= FAST_MS && GROWTH.fast * totalMs <= LONG_MS && sent.threshold === MOST
  const growth = isFast ? GROWTH.fast : GROWTH.normal
  // One full batch comes before several at once.
  const most = Math.min(sent.threshold, sent.window < LARGEST_BATCH ? LARGEST_BATCH : MOST)
  const more = sent.window < sent.threshold ? Math.min(growth * sent.window, most) : sent.window + step
  return Math.max(now.window, wholeBatches(Math.min(more, target)))
}

/** Above one batch, only whole batches count. Otherwise it would grow by sizes that no request has tried. */
function wholeBatches(size: number): number {
  const within = Math.min(Math.max(Math.floor(size), 1), MOST)
  return within > LARGEST_BATCH ? within - (within % LARGEST_BATCH) : within
}
