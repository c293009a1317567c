import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  afterAnswer,
  afterFailure,
  afterSending,
  atOnce,
  firstPlan,
  isWorthAnotherTry,
  LARGEST,
  mayBegin,
  nextSize,
  type Plan,
  waitMs,
} from '../../src/fetch/planner.ts'
import type { Limit } from '../../src/service/answer.ts'
import { CallFailure } from '../../src/service/call-failure.ts'

/** A plan for more profiles than any test requests. */
const plan = (changes: Partial<Plan> = {}): Plan => ({ ...firstPlan(1_000_000), ...changes })
const FULL = plan({ size: LARGEST, isProven: true, allowed: Number.POSITIVE_INFINITY })
const NO_LIMIT: Limit = { remaining: undefined, waitMs: 0 }

const broken = new CallFailure('broken', '', { isPassing: true, mayHaveAllocated: true })
const unsent = new CallFailure('unsent', '', { isPassing: true })
const answer = (now: Plan, sent = now, limit = NO_LIMIT) => afterAnswer(now, sent, limit, 0)
const failure = (now: Plan, sent = now, what = broken, ms = 0) => afterFailure(now, sent, what, ms)

/** The sizes of so many requests that are answered, one after the other. */
function sizes(count: number, from: Plan): number[] {
  const all = [from]
  while (all.length < count) all.push(answer(all.at(-1) ?? from))
  return all.map(nextSize)
}

test('first 100, then 1000; when that is answered, four at once', () => {
  expect(sizes(3, plan())).toEqual([100, 1000, 1000])
  expect([plan(), answer(plan()), answer(answer(plan()))].map(atOnce)).toEqual([1, 1, 4])
})

test('after a break 1, 2, 4, and so on, and at most half of what broke; one at a time until that works', () => {
  const now = failure(FULL)
  expect(sizes(10, now)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 500, 500])
  // A small request that breaks says nothing about the size that breaks.
  expect(sizes(10, failure(now))).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 500, 500])
  expect(sizes(10, failure(plan()))).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 1000, 1000])
  const half = plan({ ...now, size: 500 })
  expect([now, half, answer(half)].map(atOnce)).toEqual([1, 1, 4])
  expect(sizes(10, failure(half))).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 250, 250])
})

test('four requests that run at once and break change it once, and late answers do not undo that', () => {
  const now = [1, 2, 3, 4].reduce((each) => failure(each, FULL), FULL)
  expect(now).toMatchObject({ size: 1, most: 500, isProven: false, failed: 1 })
  expect(answer(now, FULL).size).toBe(1)
})

test('an answer to a larger request than the next one does not make that grow', () => {
  const sent = failure(FULL, FULL, unsent)
  const now = failure(sent, FULL)
  expect([sent.size, now.size, answer(now, sent).size]).toEqual([LARGEST, 1, 1])
})

test('a request asks for what is missing, and what it does not bring is requested again', () => {
  const first = firstPlan(130)
  const sent = afterSending(first)
  expect([sent, afterSending(sent)].map(nextSize)).toEqual([30, 0])
  expect(failure(sent, first, unsent).missing).toBe(130)
  // The service may send more than was requested.
  expect(nextSize({ ...sent, missing: -870 })).toBe(0)
})

test('six requests and answers run at most, and one before the first profiles are stored', () => {
  const found = [mayBegin(FULL, 5, 1), mayBegin(FULL, 6, 1), mayBegin({ ...FULL, missing: 0 }, 0, 1)]
  expect([...found, mayBegin(FULL, 0, 0), mayBegin(FULL, 1, 0)]).toEqual([true, false, false, true, false])
})

test('whatever happens, a request asks for 1 to 1000 profiles, and at most four run', () => {
  const event = fc.record({ breaks: fc.boolean(), isLate: fc.boolean() })
  fc.assert(
    fc.property(fc.array(event, { maxLength: 50 }), (events) => {
      let [before, now] = [plan(), plan()]
      for (const { breaks, isLate } of events) {
        const sent = isLate ? before : now
        const next = breaks ? failure(now, sent) : answer(now, sent)
        ;[before, now] = [now, next]
        expect(nextSize(now)).toBeGreaterThanOrEqual(1)
        expect(nextSize(now)).toBeLessThanOrEqual(LARGEST)
        expect([1, 2, 3, 4]).toContain(atOnce(now))
        if (breaks) expect(now.size).toBe(1)
      }
    }),
  )
})

describe('the rate limit', () => {
  const limitedTo = (remaining: number | undefined, ms: number, now = 0) =>
    afterAnswer(FULL, FULL, { remaining, waitMs: ms }, now)

  test('at most as many requests at once as the last answer said are left', () => {
    const left = [undefined, 9, 3, 1, 0].map((remaining) => atOnce(limitedTo(remaining, 1000)))
    expect(left).toEqual([4, 4, 3, 1, 1])
  })

  test('none before the reset if none is left; then one alone', () => {
    const none = limitedTo(0, 1000, 500)
    expect([600, 1499, 1500, 9000].map((now) => waitMs(none, now))).toEqual([900, 1, 0, 0])
    expect([limitedTo(1, 1000), limitedTo(undefined, 1000)].map((each) => waitMs(each, 0))).toEqual([0, 0])
    expect(atOnce(none)).toBe(1)
    // What asks for nothing has nothing to wait for.
    expect(waitMs({ ...none, missing: 0 }, 600)).toBe(0)
  })
})

describe('after a failure', () => {
  /** What the plan is after so many in a row. */
  const afterRow = (count: number, what: CallFailure, from = plan()) =>
    Array.from({ length: count }).reduce<Plan>((now) => failure(now, now, what), from)
  const worked = answer(plan())

  test('each pause is twice as long, up to 20 s; an answer ends that', () => {
    const pauses = [1, 2, 3, 6, 7, 10].map((count) => waitMs(afterRow(count, unsent), 0))
    expect(pauses).toEqual([500, 1000, 2000, 16_000, 20_000, 20_000])
    expect(waitMs(afterRow(1, unsent, answer(afterRow(9, unsent))), 0)).toBe(500)
  })

  test('an answer to a request from before the failure does not end the pause', () => {
    const refused = failure(FULL, FULL, new CallFailure('429', '', { isPassing: true, pauseMs: 8000 }))
    expect(waitMs(answer(refused, FULL), 0)).toBe(8000)
    // But it says that the service works: what fails now is tried for longer.
    expect([refused.hasWorked, answer(refused, FULL).hasWorked]).toEqual([false, true])
  })

  test('one request alone, and not before the service allows it', () => {
    const limited = (pauseMs: number) => new CallFailure('429', '', { isPassing: true, pauseMs })
    expect(atOnce(failure(FULL, FULL, unsent))).toBe(1)
    expect(waitMs(failure(FULL, FULL, limited(700), 50), 250)).toBe(500)
    expect(waitMs(failure(FULL, FULL, limited(0)), 0)).toBe(500)
    // Nor does a failure beside it shorten the wait.
    expect(waitMs(failure(failure(FULL, FULL, limited(9000)), FULL, unsent), 0)).toBe(9000)
  })

  test.each<[what: string, Plan, CallFailure, tries: number]>([
    ['what may pass, for half a minute', plan(), unsent, 7],
    ['what may have cost profiles, as long', plan(), broken, 7],
    ['what has worked, for two minutes', worked, unsent, 11],
    ['a connection that is refused, for a few seconds', plan(), refused(), 4],
    ['one that has worked, for two minutes', worked, refused(), 11],
    ['nothing that does not pass', worked, new CallFailure('no', ''), 1],
  ])('tries again: %s', (_, from, what, tries) => {
    const worth = Array.from({ length: 12 }, (_, at) => isWorthAnotherTry(afterRow(at + 1, what, from), what))
    expect(worth.indexOf(false) + 1).toBe(tries)
  })

  function refused() {
    return new CallFailure('refused', '', { isPassing: true, isRefused: true })
  }
})
