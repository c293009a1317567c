import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import pRetry from 'p-retry'
import { CallFailure } from '../service/call-failure.ts'
import type { Client } from '../service/client.ts'
import type { Batch } from '../service/response.ts'
import type { View } from './fetch-progress.ts'
import type { Intake } from './intake.ts'
import * as planner from './planner.ts'

export interface Parts {
  readonly count: number
  /** Aborted: send no more requests; pending ones continue. */
  readonly stop: AbortSignal
  /** Aborted: give up pending requests. */
  readonly abort: AbortSignal
  readonly client: Pick<Client, 'ask'>
  readonly intake: Pick<Intake, 'reserve' | 'release' | 'keep' | 'keepUnread'>
  readonly view: View
}

export interface Download {
  requests: number
  /** Requests that were sent but whose answer did not arrive completely. */
  broken: number
  /** How many profiles the service may have allocated for them. */
  brokenProfiles: number
  /** Why the download ended early. undefined if it is complete, or if the service sends nothing new. */
  failure: unknown
  /** Why the last request failed, if none has been answered since. */
  trouble: CallFailure | undefined
}

/**
 * Downloads until `count` new profiles are stored or no more are available. The first request runs alone and is
 * small: a wrong key or a bad disk costs only one request.
 */
export const download = (parts: Parts): Promise<Download> => new Downloader(parts).run()

class Downloader {
  readonly #parts: Parts
  readonly #result: Download = {
    requests: 0,
    broken: 0,
    brokenProfiles: 0,
    failure: undefined,
    trouble: undefined,
  }
  readonly #end = new AbortController()
  readonly #over: AbortSignal
  readonly #limit = pLimit(1)
  /** Requests until they are answered, and answers until they are stored. */
  readonly #running = new Set<Promise<void>>()
  #requests = 0
  #plan: planner.Plan

  constructor(parts: Parts) {
    this.#parts = parts
    this.#over = AbortSignal.any([parts.stop, this.#end.signal])
    this.#plan = planner.firstPlan(parts.count)
  }

  async run(): Promise<Download> {
    for (;;) {
      const mayBegin = planner.mayBegin(this.#plan, this.#requests, this.#running.size)
      if (mayBegin && !this.#over.aborted) this.#track(this.#request())
      else if (this.#running.size > 0) await Promise.race(this.#running)
      else return this.#result
    }
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#running.delete(tracked))
    this.#running.add(tracked)
  }

  #follow(plan: planner.Plan): void {
    this.#plan = plan
    this.#limit.concurrency = planner.requestsAtOnce(plan)
  }

  /** Sends a request, and repeats it until it is answered or no more profiles are available. */
  async #request(): Promise<void> {
    this.#requests++
    try {
      await pRetry(() => this.#limit(() => this.#ask()), {
        ...planner.PAUSES,
        signal: this.#over,
        onFailedAttempt: ({ error, retryDelay }) => {
          const now = performance.now()
          if (!planner.isWorthAnotherTry(this.#plan, error, now)) throw error
          this.#result.trouble = error
          this.#parts.view.noteRetry(error.message, retryDelay, planner.triesOf(this.#plan, error), now)
        },
      })
    } catch (error) {
      this.#stopFor(error)
    } finally {
      this.#requests--
    }
  }

  async #ask(): Promise<void> {
    await this.#untilAllowed()
    const { client, intake, abort } = this.#parts
    const sent = this.#plan
    const size = planner.nextSize(sent)
    if (size === 0) return
    this.#follow(planner.afterSending(sent))
    let reserve: string | undefined
    try {
      reserve = await intake.reserve(size)
      this.#result.requests++
      const batch = await client.ask(size, abort)
      this.#result.trouble = undefined
      this.#follow(planner.afterAnswer(this.#plan, sent, batch, performance.now()))
      this.#track(this.#store(sent, batch, reserve))
    } catch (error) {
      this.#follow(planner.afterFailure(this.#plan, sent, error, performance.now()))
      if (reserve !== undefined) intake.release(reserve)
      if (error instanceof CallFailure && error.mayHaveAllocated) {
        this.#result.broken++
        this.#result.brokenProfiles += size
      }
      if (error instanceof CallFailure && error.unread !== undefined) await intake.keepUnread(error.unread, 0)
      throw error
    }
  }

  async #untilAllowed(): Promise<void> {
    this.#over.throwIfAborted()
    const now = performance.now()
    const ms = planner.waitMs(this.#plan, now)
    if (ms === 0) return
    this.#parts.view.noteLimit(ms, now)
    await sleep(ms, undefined, { signal: this.#over })
    // A timer may be a little early.
    await this.#untilAllowed()
  }

  async #store(sent: planner.Plan, batch: Batch, reserve: string): Promise<void> {
    const { intake, view } = this.#parts
    const { profiles, refused, body } = batch
    try {
      view.noteRefused(refused)
      const stored = await intake.keep(profiles, reserve)
      if (refused.length > 0) await intake.keepUnread(body, refused.length)
      view.noteStored(performance.now())
      this.#follow(planner.afterStoring(this.#plan, sent, batch, stored))
      if (profiles.length === 0 && refused.length > 0)
        throw new CallFailure('the answer has no profile that can be used')
      if (planner.isMostlyRefused(this.#plan))
        throw new CallFailure("most of what the service sends can't be used", { facts: 'mostly-refused' })
      // A service that sends only known profiles would keep doing so.
      if (stored === 0) this.#end.abort()
    } catch (error) {
      this.#stopFor(error)
    }
  }

  /** Requests that are waiting when the download ends must not be reported as its cause. */
  #stopFor(error: unknown): void {
    const isStopped = error instanceof CallFailure && this.#parts.stop.aborted
    if (
      !isAbort(error) &&
      !isStopped &&
      (this.#result.failure === undefined || isNoMore(this.#result.failure))
    )
      this.#result.failure = error
    this.#end.abort()
  }
}

const isAbort = (error: unknown) => error instanceof Error && error.name === 'AbortError'

/** Any other failure says more. */
const isNoMore = (error: unknown) =>
  error instanceof CallFailure && ['no-more', 'other-path'].includes(error.facts.kind)
