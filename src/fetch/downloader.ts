/** Downloads profiles: several requests at once, each answer stored as it comes. The planner says when and how many. */
import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import pRetry, { type RetryContext } from 'p-retry'
import { Failure } from '../failure.ts'
import { iccidDigits } from '../profile/check.ts'
import { type Batch, LONGEST_WAIT_MS, repeated } from '../service/answer.ts'
import { CallFailure } from '../service/call-failure.ts'
import type { Client } from '../service/client.ts'
import { knownIn, type Noted, NotStored, receive, release, request } from '../store/directory.ts'
import { durationOf, type Messages, several } from '../words.ts'
import * as planner from './planner.ts'

export interface Work {
  readonly count: number
  readonly directory: string
  readonly client: Pick<Client, 'ask'>
  /** Aborted: send no more requests; those under way go on. */
  readonly stop: AbortSignal
  /** Aborted: give up requests that are under way. */
  readonly abort: AbortSignal
  readonly messages: Messages
  readonly notePause: (why: string, ms: number) => void
}

/** What becomes of a download, while it runs and after it. All numbers are of profiles, if nothing else is said. */
export class Tally {
  /** New, and in the directory under their names. */
  stored = 0
  /** On the disk: the next call gives them their names. */
  putAside = 0
  requests = 0
  /** What requests may have cost that were sent and not answered completely. */
  mayBeLost = 0
  /** Why it ended early, unless it was stopped. */
  failure: unknown
}

/** While a disk is full, it is tried again after this time. */
const FULL_MS = 3000

/** Downloads until `count` new profiles are stored or no more are available. */
export async function download(work: Work, tally: Tally): Promise<void> {
  const { directory, client, stop, abort, messages } = work
  const end = new AbortController()
  const over = AbortSignal.any([stop, end.signal])
  const limit = pLimit(1)
  /** Also what this call stores. */
  const known = knownIn(directory)
  /** Requests until they are answered, and answers until they are stored. */
  const running = new Set<Promise<void>>()
  /** Answers that wait for room on the disk. */
  let unstored = 0
  let plan = planner.firstPlan(work.count)

  for (;;) {
    const mayBegin = () => unstored === 0 && planner.mayBegin(plan, running.size, tally.stored)
    while (!over.aborted && mayBegin()) begin(next())
    if (running.size === 0) return
    await Promise.race(running)
  }

  function begin(work: Promise<void>): void {
    const one: Promise<void> = work.catch(endWith).then(() => void running.delete(one))
    running.add(one)
  }

  function follow(changed: planner.Plan): void {
    plan = changed
    limit.concurrency = planner.atOnce(plan)
  }

  /** Sends a request, and repeats it until it is answered. How long it waits, and how often it tries, is planned. */
  function next(): Promise<void> {
    const shouldRetry = ({ error }: RetryContext) =>
      !over.aborted && error instanceof CallFailure && planner.isWorthAnotherTry(plan, error)
    // Without its signal, for which it would drop what a request under way has failed with.
    return pRetry(() => limit(ask), { retries: 99, minTimeout: 0, shouldRetry })
  }

  async function ask(): Promise<void> {
    over.throwIfAborted()
    const ms = planner.waitMs(plan, performance.now())
    if (ms > LONGEST_WAIT_MS)
      throw new CallFailure(
        `the service asks for a pause of ${durationOf(ms)}`,
        'try again then; if no limit can last so long, ask the service provider',
      )
    if (ms > 0) {
      work.notePause(plan.why, ms)
      await sleep(ms, undefined, { signal: over })
    }
    const sent = plan
    const asked = planner.nextSize(sent)
    if (asked === 0 || unstored > 0) return
    const noted = request(directory, asked)
    follow(planner.afterSending(sent))
    tally.requests++
    try {
      const batch = await client.ask(asked, abort)
      follow(planner.afterAnswer(plan, sent, batch.limit, performance.now()))
      // Whatever ends the download, what has arrived is stored.
      begin(store(noted, asked, batch))
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      follow(planner.afterFailure(plan, sent, error, performance.now()))
      const { mayHaveAllocated, profiles = [] } = error.traits
      if (mayHaveAllocated) {
        // Of an answer with more than was asked for, nobody knows where it would have ended.
        tally.mayBeLost += profiles.length > asked ? Number.POSITIVE_INFINITY : asked - profiles.length
        const stored = await keep(noted, profiles)
        follow({ ...plan, missing: plan.missing - stored })
      } else release(directory, noted)
      throw error
    }
  }

  async function store(noted: Noted, asked: number, { profiles, refused }: Batch): Promise<void> {
    for (const entry of refused) messages.warn(`${entry}; not stored`)
    const stored = await keep(noted, profiles)
    follow({ ...plan, missing: plan.missing + asked - stored })
    messages.tell(1, `${tally.stored} of ${work.count} profiles stored`)
    if (refused.length > profiles.length)
      throw new CallFailure(
        "most of what the service sends can't be used",
        'tell the operator of the service',
      )
  }

  /**
   * Stores profiles, which are paid for. While the disk is full, they stay in memory, and no more are requested.
   * @returns how many of them are new
   * @throws {CallFailure} if the directory already has one of them
   */
  async function keep(noted: Noted, profiles: Batch['profiles']): Promise<number> {
    const isKnown = ({ iccid }: Batch['profiles'][number]) => known.has(iccidDigits(iccid) ?? iccid)
    for (let tries = 0; ; tries++) {
      const again = profiles.find(isKnown)
      if (again !== undefined) {
        release(directory, noted)
        lose(profiles.filter((each) => !isKnown(each)))
        throw repeated(`the answer repeats ${iccidDigits(again.iccid)}, which ${directory} already has`)
      }
      try {
        const stored = await receive(directory, noted, profiles, known)
        tally.stored += stored
        return stored
      } catch (error) {
        if (!(error instanceof NotStored)) throw error
        if (error.isPutAside) tally.putAside += profiles.length
        if (error.isPutAside) throw error
        if (stop.aborted) return lose(profiles)
        const what = `${several(profiles.length, 'profile')} paid for, and only in memory until there is room`
        if (tries === 0) messages.warn(`${error.message}: ${what}; ${error.hint}`)
        unstored++
        await sleep(FULL_MS, undefined, { signal: stop }).catch(() => {})
        unstored--
      }
    }
  }

  /** Says it at once: a second signal ends the process. */
  function lose(profiles: Batch['profiles']): number {
    const iccids = profiles.map(({ iccid }) => iccid).join(' ')
    if (iccids !== '') messages.warn(`received and not stored: ${iccids}; ask the service provider`)
    return 0
  }

  /** Requests that wait when the download ends are not its cause. */
  function endWith(error: unknown): void {
    const isWaiting = error instanceof Error && error.name === 'AbortError'
    const isStopped = stop.aborted && (error instanceof CallFailure || error === stop.reason)
    // Any other failure says more than that there are no more.
    const saysLess = tally.failure instanceof Failure && tally.failure.outcome === 'no-profiles'
    if (!isWaiting && !isStopped && (tally.failure === undefined || saysLess)) tally.failure = error
    end.abort()
  }
}
