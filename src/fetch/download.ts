import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import pRetry from 'p-retry'
import { CallFailure } from '../service/call-failure.ts'
import type { Client } from '../service/client.ts'
import { type Batch, profilesIn } from '../service/response.ts'
import type { Intake } from '../store/incoming/add.ts'
import { durationOf, type Messages } from '../words.ts'
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
export async function download({ count, stop, abort, client, intake, view }: Parts): Promise<Download> {
  const result: Download = {
    requests: 0,
    broken: 0,
    brokenProfiles: 0,
    failure: undefined,
    trouble: undefined,
  }
  const end = new AbortController()
  const over = AbortSignal.any([stop, end.signal])
  const limit = pLimit(1)
  /** Requests until they are answered, and answers until they are stored. */
  const running = new Set<Promise<void>>()
  let requests = 0
  let plan = planner.firstPlan(count)

  for (;;) {
    if (planner.mayBegin(plan, requests, running.size) && !over.aborted) track(request())
    else if (running.size > 0) await Promise.race(running)
    else return result
  }

  function track(work: Promise<void>): void {
    const tracked = work.finally(() => running.delete(tracked))
    running.add(tracked)
  }

  function follow(next: planner.Plan): void {
    plan = next
    limit.concurrency = planner.requestsAtOnce(plan)
  }

  /** Sends a request, and repeats it until it is answered or no more profiles are available. */
  async function request(): Promise<void> {
    requests++
    try {
      await pRetry(() => limit(ask), {
        ...planner.PAUSES,
        signal: over,
        onFailedAttempt: ({ error, retryDelay }) => {
          const now = performance.now()
          if (!planner.isWorthAnotherTry(plan, error, now)) throw error
          result.trouble = error
          const delay = Math.max(retryDelay, planner.waitMs(plan, now))
          view.noteRetry(error.message, delay, planner.triesOf(plan, error), now)
        },
      })
    } catch (error) {
      stopFor(error)
    } finally {
      requests--
    }
  }

  async function ask(): Promise<void> {
    await untilAllowed()
    const sent = plan
    const size = planner.nextSize(sent)
    if (size === 0) return
    follow(planner.afterSending(sent))
    let reserve: string | undefined
    try {
      reserve = await intake.reserve(size)
      result.requests++
      const batch = await client.ask(size, abort)
      result.trouble = undefined
      follow(planner.afterAnswer(plan, sent, batch, performance.now()))
      track(store(sent, batch, reserve))
    } catch (error) {
      follow(planner.afterFailure(plan, sent, error, performance.now()))
      const { mayHaveAllocated, unread, part = unread } = error instanceof CallFailure ? error : {}
      const profiles = part === undefined ? [] : profilesIn(part)
      if (mayHaveAllocated) {
        result.broken++
        result.brokenProfiles += Math.max(0, size - profiles.length)
      }
      if (reserve !== undefined && profiles.length > 0)
        follow(planner.afterPart(plan, await intake.keep(profiles, reserve)))
      else if (reserve !== undefined) intake.release(reserve)
      if (unread !== undefined) await intake.keepUnread(unread, 0)
      throw error
    }
  }

  async function untilAllowed(): Promise<void> {
    over.throwIfAborted()
    const now = performance.now()
    const ms = planner.waitMs(plan, now)
    if (ms === 0) return
    view.noteLimit(ms, now)
    await sleep(ms, undefined, { signal: over })
    // A timer may be a little early.
    await untilAllowed()
  }

  async function store(sent: planner.Plan, batch: Batch, reserve: string): Promise<void> {
    const { profiles, refused, body } = batch
    try {
      view.noteRefused(refused)
      const stored = await intake.keep(profiles, reserve)
      if (refused.length > 0) await intake.keepUnread(body, refused.length)
      view.noteStored(performance.now())
      follow(planner.afterStoring(plan, sent, batch, stored))
      if (profiles.length === 0 && refused.length > 0)
        throw new CallFailure('the answer has no profile that can be used')
      if (planner.isMostlyRefused(plan))
        throw new CallFailure("most of what the service sends can't be used", { facts: 'mostly-refused' })
      // A service that sends only known profiles would keep doing so.
      if (stored === 0) end.abort()
    } catch (error) {
      stopFor(error)
    }
  }

  /** Requests that are waiting when the download ends must not be reported as its cause. */
  function stopFor(error: unknown): void {
    const isAbort = error instanceof Error && error.name === 'AbortError'
    const isStopped = error instanceof CallFailure && stop.aborted
    const saysMore = result.failure === undefined || isNoMore(result.failure)
    if (!isAbort && !isStopped && saysMore) result.failure = error
    end.abort()
  }
}

/** Any other failure says more. */
const isNoMore = (error: unknown) =>
  error instanceof CallFailure && ['no-more', 'other-path'].includes(error.facts.kind)

/** What a `fetch` waits for. */
interface Wait {
  /** When it is over, in milliseconds. */
  readonly until: number
  /** undefined when there is nothing more to say. */
  readonly words: (seconds: number) => string | undefined
}

/** A wait of this length is reported even right after another line. */
const LONG_MS = 10_000

type View = ReturnType<typeof viewOf>

/**
 * What a user sees of a running `fetch`: how far it is, how long it will take, and why it waits.
 * @param tally says at any time how many profiles are stored
 * @param note is called when it has to wait
 */
export function viewOf(
  count: number,
  tally: { readonly stored: number },
  messages: Messages,
  note: () => void,
) {
  /** When profiles were stored first, and how many: there is no rate before there are more. */
  let first: { readonly at: number; readonly stored: number } | undefined
  let wait: Wait | undefined

  function left(now: number): string | undefined {
    if (first === undefined) return undefined
    const since = tally.stored - first.stored
    const leftMs = ((now - first.at) / since) * (count - tally.stored)
    return since > 0 && leftMs > 0 ? `${durationOf(leftMs)} left` : undefined
  }

  return {
    /** @param now in milliseconds, as everywhere here */
    noteLimit(ms: number, now: number): void {
      const words = (seconds: number) => `waiting ${seconds} s for the rate limit`
      wait = { until: now + ms, words: (seconds) => (seconds > 0 ? words(seconds) : undefined) }
      const isLong = ms >= LONG_MS
      messages.tell(isLong ? 0 : 1, words(Math.ceil(ms / 1000)))
      if (!isLong) note()
    },

    /** @param tries which try is next, and how many there will be */
    noteRetry(reason: string, ms: number, tries: string, now: number): void {
      // The line is short, and the message that ends a fetch has the code of the error.
      const short = reason.replace(/ \([A-Z_]+\)$/, '')
      const when = (seconds: number) => (seconds > 0 ? `in ${seconds} s` : 'now')
      wait = { until: now + ms, words: (seconds) => `${short}; trying again ${when(seconds)} (${tries})` }
      messages.tell(1, `${reason}; trying again in ${Math.ceil(ms / 1000)} s (${tries})`)
      note()
    },

    noteRefused(entries: readonly string[]): void {
      for (const entry of entries) messages.warn(`${entry}; not stored`)
    },

    noteStored(now: number): void {
      wait = undefined
      first ??= { at: now, stored: tally.stored }
      messages.tell(1, `${tally.stored} of ${count} profiles stored`)
    },

    /** One line, without its newline. */
    line(now: number): string {
      const { stored } = tally
      const done = `${Math.floor((stored / count) * 100)} % (${stored} of ${count})`
      const words = wait ? wait.words(Math.max(0, Math.ceil((wait.until - now) / 1000))) : left(now)
      return words === undefined ? done : `${done}, ${words}`
    },
  }
}
