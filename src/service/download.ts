import pLimit from 'p-limit'
import pRetry from 'p-retry'
import type { Answer, ServedProfile } from './answer.ts'
import { CallFailure } from './failure.ts'
import type { Limit } from './limit.ts'
import { Pace } from './pace.ts'
import { plan } from './plan.ts'

/** Enough to hide the service's latency, few enough to lose little when they break. */
const CALLS_AT_ONCE = 4

/** Answers that are under way or being kept: network and disk need not wait for each other, and memory stays bounded. */
const ANSWERS_AT_ONCE = 6

/** Whatever is asked for: a service may have far less. */
const MOST_PLANNED = 1_000_000

/** Five more tries within about ten to twenty seconds. */
const RETRY = { retries: 5, minTimeout: 300, factor: 2, randomize: true } as const

export interface Job {
  /** How many profiles to bring. */
  readonly count: number
  readonly ask: (count: number, learn: (limit: Limit) => void, signal: AbortSignal) => Promise<Answer>
  /** Keeps the profiles of an answer and returns how many of them were new. */
  readonly keep: (profiles: readonly ServedProfile[]) => Promise<number>
  /** No further call is made from then on; those under way go on. */
  readonly stop: AbortSignal
  /** Calls under way are given up. */
  readonly abort: AbortSignal
  readonly onWait: (ms: number) => void
  readonly onRetry: (failure: CallFailure) => void
  readonly onRefused: (entry: string) => void
}

/** How a download went. */
export interface Download {
  /** New profiles that are kept. */
  kept: number
  /** Calls that were made. */
  requests: number
  /** Calls that were sent and whose answer never came whole. */
  broken: number
  /** How many profiles the service may have allocated for those. */
  brokenProfiles: number
  /** What ended it before all was there; undefined where all is, or nothing more was to be had. */
  failure: unknown
}

/**
 * Brings profiles until there are `count` new ones, or no more are to be had. The first call goes alone: a wrong key
 * costs one call, and its answer tells what the rate limit leaves.
 */
export async function download(job: Job): Promise<Download> {
  const result: Download = { kept: 0, requests: 0, broken: 0, brokenProfiles: 0, failure: undefined }
  const pace = new Pace(job.onWait)
  const calls = pLimit(CALLS_AT_ONCE)
  const answers = pLimit(ANSWERS_AT_ONCE)
  let missing = job.count
  const end = new AbortController()
  const over = AbortSignal.any([job.stop, end.signal])

  const bring = async (size: number): Promise<void> => {
    const { profiles, refused } = await calls(() => pace.run(() => ask(size), over))
    for (const entry of refused) job.onRefused(entry)
    if (profiles.length === 0 && refused.length > 0)
      throw new CallFailure('the answer has no profile that can be used')
    const kept = await job.keep(profiles)
    result.kept += kept
    missing -= kept
    // A service that sends what is there already would go on doing so.
    if (kept === 0) end.abort()
  }

  const ask = async (size: number): Promise<Answer> => {
    result.requests++
    try {
      return await job.ask(size, (limit) => pace.learn(limit, performance.now()), job.abort)
    } catch (error) {
      if (error instanceof CallFailure && error.mayHaveAllocated) {
        result.broken++
        result.brokenProfiles += size
      }
      throw error
    }
  }

  const bringPatiently = async (size: number): Promise<void> => {
    if (over.aborted) return
    try {
      // What ends the waiting here does not end the call under way: its profiles are kept before pRetry hears of them.
      await pRetry(() => bring(size), {
        ...RETRY,
        signal: over,
        shouldRetry: ({ error }) => isPassing(error),
        onFailedAttempt: ({ error, retriesLeft }) => {
          if (isPassing(error) && retriesLeft > 0 && !over.aborted) job.onRetry(error)
        },
      })
    } catch (error) {
      // Of those that wait, none is to blame for the end.
      const isOfTheService = error instanceof CallFailure
      if (!isAbort(error) && !isNoMore(error) && !(isOfTheService && job.stop.aborted))
        result.failure ??= error
      end.abort()
    }
  }

  const [first = 0] = plan(job.count)
  await bringPatiently(first)
  while (!over.aborted && missing > 0) {
    await Promise.all(
      plan(Math.min(missing, MOST_PLANNED)).map((size) => answers(() => bringPatiently(size))),
    )
  }
  return result
}

const isPassing = (error: unknown): error is CallFailure => error instanceof CallFailure && error.isPassing

const isAbort = (error: unknown) => error instanceof Error && error.name === 'AbortError'

const isNoMore = (error: unknown) => error instanceof CallFailure && error.status === 404
