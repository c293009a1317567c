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
import { CallFailure } from '../../src/service/call-failure.ts'
import type { Limit } from '../../src/service/rate-limit.ts'

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

test('after a break 1, 2, 4, and so on, up to half of what broke; then in steps; one at a time', () => {
  const now = failure(FULL)
  expect(sizes(13, now)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 500, 550, 600, 650])
  expect(atOnce(now)).toBe(1)
  // A request for one that breaks says nothing about the size that breaks.
  expect(sizes(11, failure(now))).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 500, 550])
  expect(sizes(9, failure(answer(now)))).toEqual([1, 2, 4, 8, 16, 32, 64, 114, 164])
})

test('four requests that run at once and break change it once, and late answers do not undo that', () => {
  const now = [1, 2, 3, 4].reduce((each) => failure(each, FULL), FULL)
  expect(now).toMatchObject({ size: 1, half: 500, isProven: false, broken: 1 })
  expect(answer(now, FULL).size).toBe(1)
})

test('a request asks for what is missing, and what it does not bring is requested again', () => {
  const first = firstPlan(130)
  const sent = afterSending(first)
  expect([sent, afterSending(sent)].map(nextSize)).toEqual([30, 0])
  expect(failure(sent, first, unsent).missing).toBe(130)
  // The service may send more than was requested.
  expect(nextSize({ ...sent, missing: -870 })).toBe(0)
})

test('another request begins beside six answers at most', () => {
  const found = [
    mayBegin(FULL, 3, 5),
    mayBegin(FULL, 4, 5),
    mayBegin(FULL, 3, 6),
    mayBegin({ ...FULL, missing: 0 }, 0, 0),
  ]
  expect(found).toEqual([true, false, false, false])
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

  test('a request without an answer may count too; one with an answer says itself what is left', () => {
    const three = limitedTo(3, 1000)
    expect(atOnce(failure(three, three, unsent))).toBe(2)
    const refused = new CallFailure('429', '', { isPassing: true, limit: { remaining: 0, waitMs: 700 } })
    expect(waitMs(failure(three, three, refused, 50), 250)).toBe(500)
  })

  test('none before the reset if none is left; then one alone', () => {
    const none = limitedTo(0, 1000, 500)
    expect([600, 1499, 1500, 9000].map((now) => waitMs(none, now))).toEqual([900, 1, 0, 0])
    expect([limitedTo(1, 1000), limitedTo(undefined, 1000)].map((each) => waitMs(each, 0))).toEqual([0, 0])
    expect([none, failure(none, none, unsent, 1600)].map(atOnce)).toEqual([1, 1])
  })
})

describe('what is tried again', () => {
  const worked = answer(plan())
  /** How many tries there are at most. */
  const mostTries = (now: Plan, what: CallFailure) => {
    let tries = 1
    while (isWorthAnotherTry(now, what, tries)) tries++
    return tries
  }

  test('up to six requests in a row that may have cost profiles', () => {
    const broke = (count: number, from: Plan) =>
      Array.from({ length: count }).reduce<Plan>((now) => failure(now), from)
    expect([5, 6].map((count) => isWorthAnotherTry(broke(count, plan()), broken, 1))).toEqual([true, false])
    expect(isWorthAnotherTry(broke(5, answer(broke(2, plan()))), broken, 1)).toBe(true)
    const five = broke(5, plan())
    expect(isWorthAnotherTry(failure(five, five, unsent), broken, 1)).toBe(true)
  })

  test('what costs nothing, for half a minute, or for two minutes once it has worked', () => {
    expect([plan(), worked].map((now) => mostTries(now, unsent))).toEqual([7, 11])
  })

  test('a first connection that is refused, for a few seconds', () => {
    const refused = new CallFailure('refused', '', { isPassing: true, isRefused: true })
    expect([plan(), worked].map((now) => mostTries(now, refused))).toEqual([4, 11])
  })

  test('nothing that does not pass', () => {
    expect(mostTries(plan(), new CallFailure('no', ''))).toBe(1)
  })
})
