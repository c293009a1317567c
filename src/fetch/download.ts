import pLimit from 'p-limit'
import pRetry from 'p-retry'
import { CallFailure } from '../service/call-failure.ts'
import type { TimedAnswer } from '../service/client.ts'
import type { Limit } from '../service/rate-limit.ts'
import type { Download, Job } from './job.ts'
import { Pace } from './pace.ts'
import {
  afterFailure,
  isWorthAnotherTry,
  NEW_PATIENCE,
  PAUSES,
  RENEWED_PATIENCE,
  triesOf,
} from './retries.ts'
import { afterArrival, afterBreak, batchOf, callsOf, FIRST_WINDOW, type Window } from './window.ts'

/** Answers that are pending or being stored. Network and disk work in parallel, and memory use stays bounded. */
const ANSWERS_AT_ONCE = 6

/** With more, the download ends if they are also more than half of what was received: each may be paid for. */
const MOST_REFUSED = 100
const REFUSED_HINT =
  'tell the operator of the service; the answers are put aside in the files that the warnings name'

/**
 * Downloads until `count` new profiles are stored or no more are available. The first request runs alone and is
 * small: a wrong key or a bad disk costs only one request, and its answer shows the rate limit and the speed of the
 * line.
 */
export const download = <Room>(job: Job<Room>): Promise<Download> => new Run(job).toEnd()

class Run<Room> {
  readonly #job: Job<Room>
  readonly #result: Download = { requests: 0, broken: 0, brokenProfiles: 0, failure: undefined }
  readonly #pace: Pace
  readonly #end = new AbortController()
  readonly #over: AbortSignal
  /** Requests in parallel. When the line gets worse, requests that wait for a retry queue here. */
  readonly #limit = pLimit(callsOf(FIRST_WINDOW))
  readonly #calls = new Set<Promise<void>>()
  readonly #keeps = new Set<Promise<void>>()
  /** Profiles that are neither stored nor requested. */
  #wanted: number
  #window = FIRST_WINDOW
  #patience = NEW_PATIENCE
  #hasKept = false
  #received = 0
  #refused = 0

  constructor(job: Job<Room>) {
    this.#job = job
    this.#wanted = job.count
    this.#pace = new Pace((ms) => job.display.onWait(ms))
    this.#over = AbortSignal.any([job.stop, this.#end.signal])
  }

  async toEnd(): Promise<Download> {
    while (!this.#over.aborted) {
      if (this.#mayCall()) track(this.#calls, this.#bring())
      else if (this.#calls.size + this.#keeps.size === 0) break
      else await Promise.race([...this.#calls, ...this.#keeps])
    }
    await Promise.all(this.#calls)
    await Promise.all(this.#keeps)
    return this.#result
  }

  #mayCall(): boolean {
    const answers = this.#calls.size + this.#keeps.size
    return (
      this.#wanted > 0 &&
      this.#calls.size < callsOf(this.#window) &&
      answers < (this.#hasKept ? ANSWERS_AT_ONCE : 1)
    )
  }

  /** Sends a request, and repeats it until it is answered or no more profiles are available. */
  async #bring(): Promise<void> {
    try {
      await pRetry(() => this.#limit(() => this.#call()), {
        ...PAUSES,
        signal: this.#over,
        shouldRetry: ({ error }) => this.#isWorthAnotherTry(error),
        onFailedAttempt: ({ error, retryDelay }) => {
          if (!this.#isWorthAnotherTry(error) || this.#over.aborted) return
          this.#job.display.onRetry(error, retryDelay, triesOf(this.#patience))
        },
      })
    } catch (error) {
      this.#stopFor(error)
    }
  }

  #isWorthAnotherTry(error: unknown): error is CallFailure {
    return isWorthAnotherTry(error, this.#patience, performance.now())
  }

  async #call(): Promise<void> {
    let size = Math.min(this.#wanted, batchOf(this.#window))
    if (size === 0) return
    this.#wanted -= size
    try {
      await this.#pace.run(async () => {
        // The line may have become worse during the wait for the rate limit.
        const less = Math.max(0, size - batchOf(this.#window))
        this.#wanted += less
        size -= less
        await this.#ask(size)
      }, this.#over)
    } catch (error) {
      this.#wanted += size
      throw error
    }
  }

  async #ask(size: number): Promise<void> {
    const [window, patience] = [this.#window, this.#patience]
    const room = await this.#job.stock.reserve(size)
    const began = performance.now()
    this.#result.requests++
    try {
      const learn = (limit: Limit) => this.#pace.learn(limit, performance.now())
      const answer = await this.#job.client.ask(size, learn, this.#job.abort)
      const now = performance.now()
      const arrival = { count: answer.profiles.length, bodyMs: answer.bodyMs, totalMs: now - began }
      // A service that sends mostly what can't be used is not asked for more at once.
      if (answer.refused.length <= answer.profiles.length)
        this.#setWindow(afterArrival(this.#window, window, arrival))
      this.#patience = RENEWED_PATIENCE
      track(this.#keeps, this.#keep(size, answer, room))
    } catch (error) {
      this.#job.stock.release(room)
      if (error instanceof CallFailure) {
        this.#patience = afterFailure(this.#patience, patience, error.mayHaveAllocated, performance.now())
        if (error.mayHaveAllocated) {
          this.#result.broken++
          this.#result.brokenProfiles += size
          this.#setWindow(afterBreak(window))
        }
        if (error.unread !== undefined) await this.#job.stock.keepUnread(error.unread, 0)
      }
      throw error
    }
  }

  #setWindow(window: Window): void {
    this.#window = window
    this.#limit.concurrency = callsOf(window)
  }

  async #keep(size: number, { profiles, refused, body }: TimedAnswer, room: Room): Promise<void> {
    try {
      for (const entry of refused) this.#job.display.onRefused(entry)
      const kept = await this.#job.stock.keep(profiles, room)
      if (refused.length > 0) await this.#job.stock.keepUnread(body, refused.length)
      this.#hasKept = true
      this.#job.display.onKept()
      this.#wanted += size - kept
      if (profiles.length === 0 && refused.length > 0)
        throw new CallFailure('the answer has no profile that can be used')
      this.#received += profiles.length + refused.length
      this.#refused += refused.length
      if (this.#refused > MOST_REFUSED && this.#refused > this.#received / 2)
        throw new CallFailure("most of what the service sends can't be used", { hint: REFUSED_HINT })
      // A service that sends only known profiles would keep doing so.
      if (kept === 0) this.#end.abort()
    } catch (error) {
      this.#stopFor(error)
    }
  }

  /** Requests that are waiting when the download ends must not be reported as its cause. */
  #stopFor(error: unknown): void {
    const isStopped = error instanceof CallFailure && this.#job.stop.aborted
    if (!isAbort(error) && !isNoMore(error) && !isStopped) this.#result.failure ??= error
    this.#end.abort()
  }
}

function track(set: Set<Promise<void>>, promise: Promise<void>): void {
  const tracked = promise.finally(() => set.delete(tracked))
  set.add(tracked)
}

const isAbort = (error: unknown) => error instanceof Error && error.name === 'AbortError'

const isNoMore = (error: unknown) => error instanceof CallFailure && error.outcome === 'no-profiles'
