import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  afterAnswer,
  afterFailure,
  afterSending,
  afterStoring,
  firstPlan,
  isMostlyRefused,
  isWorthAnotherTry,
  LARGEST_BATCH,
  mayBegin,
  nextSize,
  type Plan,
  requestsAtOnce,
  triesOf,
  waitMs,
} from '../../src/fetch/planner.ts'
import { CallFailure } from '../../src/service/call-failure.ts'
import { answerOf } from '../support/download.ts'

/** A plan for more profiles than any test requests, without a rate limit. */
const plan = (changes: Partial<Plan> = {}): Plan => ({
  ...firstPlan(1_000_000),
  allowed: Number.POSITIVE_INFINITY,
  ...changes,
})
const FIRST = plan()

/** How long an answer takes, with so many profiles. */
interface Arrival {
  readonly count: number
  readonly bodyMs: number
  readonly totalMs: number
}

const afterArrival = (now: Plan, then: Plan, { count, ...times }: Arrival) =>
  afterAnswer(now, then, { ...answerOf(count), ...times }, 0)

const failure = (mayHaveAllocated: boolean) => new CallFailure('torn', { isPassing: true, mayHaveAllocated })

const afterBreak = (then: Plan) => afterFailure(then, then, failure(true), 0)

/** What a whole answer says of a line that brings so many profiles a second to all requests together. */
function over(then: Plan, perSecond: number, waitMs = 200): Arrival {
  const bodyMs = ((nextSize(then) * requestsAtOnce(then)) / perSecond) * 1000
  return { count: nextSize(then), bodyMs, totalMs: bodyMs + waitMs }
}

/** The plans of so many requests, one after the other. */
function plans(count: number, perSecond: number, from = FIRST, waitMs?: number): Plan[] {
  const all = [from]
  while (all.length < count) {
    const last = all.at(-1) ?? from
    all.push(afterArrival(last, last, over(last, perSecond, waitMs)))
  }
  return all
}

const sizes = (all: readonly Plan[]) => all.map(({ window }) => window).join(' ')

test('the number doubles up to the largest batch, then several requests run in parallel', () => {
  const all = plans(8, 399)
  expect(sizes(all)).toBe('100 200 400 800 1000 2000 3000 3000')
  expect(all.map(nextSize).join(' ')).toBe('100 200 400 800 1000 1000 1000 1000')
  expect(all.map(requestsAtOnce).join(' ')).toBe('1 1 1 1 1 2 3 3')
})

test('on a fast connection it grows eightfold, unless a request has failed', () => {
  expect(sizes(plans(4, 100_000))).toBe('100 800 1000 4000')
  expect(sizes(plans(3, 399))).toBe('100 200 400')
  expect(sizes(plans(3, 401))).toBe('100 800 1000')
})

test('it does not grow eightfold if the service takes so long that more could take over a minute', () => {
  const after = (totalMs: number) => afterArrival(FIRST, FIRST, { count: 100, bodyMs: 1, totalMs })
  expect(sizes([7500, 7501].map(after))).toBe('800 200')
})

// 64 and 128 kbit/s, and half a Mbit/s.
test.each([11, 22, 80])('%i profiles a second: one request, for ten seconds', (perSecond) => {
  const all = plans(20, perSecond)
  expect(all.map(requestsAtOnce)).toEqual(Array(20).fill(1))
  expect(all.at(-1)?.window).toBe(10 * perSecond)
})

test('parallel requests are limited to what arrives within ten seconds', () => {
  const after = (perSecond: number) => requestsAtOnce(plans(20, perSecond).at(-1) ?? FIRST)
  const seen = [170, 250, 330, 1000].map((each) => `${each} a second: ${after(each)}`)
  expect(seen).toEqual(['170 a second: 1', '250 a second: 2', '330 a second: 3', '1000 a second: 4'])
})

test('a slow start of a response does not count as a slow connection', () => {
  expect(plans(7, 100_000, FIRST, 30_000).at(-1)?.window).toBe(4000)
})

test('after a request that took a minute in total it does not grow, because something may delay responses', () => {
  expect(afterArrival(FIRST, FIRST, { count: 100, bodyMs: 1, totalMs: 60_000 }).window).toBe(200)
  const actual = afterArrival(FIRST, FIRST, { count: 100, bodyMs: 1, totalMs: 61_000 })
  expect(actual).toMatchObject({ window: FIRST.window, threshold: FIRST.threshold })
})

test('a short response shows how long a full one would take', () => {
  const full = plan({ window: 1000 })
  expect(afterArrival(full, full, { count: 100, bodyMs: 2000, totalMs: 2100 }).window).toBe(500)
})

test('it does not grow after a response most of whose entries can’t be used', () => {
  const after = (refused: number) => afterAnswer(FIRST, FIRST, answerOf(50, refused), 0).window
  expect([50, 51].map(after)).toEqual([800, 100])
})

test('after a broken request it asks for one twice, doubles up to half of that size, and then grows in steps', () => {
  const first = afterBreak(plan({ window: 1000 }))
  expect(sizes(plans(14, 100_000, first))).toBe('1 1 2 4 8 16 32 64 128 256 500 550 600 650')
})

test('it asks for one until two requests in a row succeed, and remembers what size broke', () => {
  const twice = afterBreak(afterBreak(plan({ window: 1000 })))
  expect(twice).toMatchObject({ window: 1, threshold: 500 })
  // However slow the service is, it does not go on one by one.
  expect(sizes(plans(8, 100_000, twice, 61_000))).toBe('1 1 2 4 8 16 32 32')
})

test('whatever fails after the first failure, it costs no more than what has arrived since, or one profile', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 100 }), (breaks) => {
      let [now, arrived] = [afterBreak(plan({ window: 4000 })), 0]
      for (const isBreak of breaks) {
        if (isBreak) expect(nextSize(now) * requestsAtOnce(now)).toBeLessThanOrEqual(Math.max(1, arrived))
        arrived = isBreak ? 0 : arrived + nextSize(now)
        now = isBreak ? afterBreak(now) : afterArrival(now, now, over(now, 100_000))
      }
    }),
  )
})

test('four parallel requests that break change it once, and the results of the others do not undo that', () => {
  const then = plan({ window: 4000 })
  const now = afterBreak(then)
  expect(sizes([now, afterFailure(now, then, failure(true), 0)])).toBe('1 1')
  expect(afterFailure(now, then, failure(true), 0).threshold).toBe(2000)
  expect(afterArrival(now, then, over(then, 100_000))).toMatchObject({ window: 1, threshold: 2000 })
})

test('four slow parallel requests change it once', () => {
  const then = plan({ window: 4000 })
  const once = afterArrival(then, then, over(then, 100))
  expect(once.window).toBe(1000)
  expect([1, 2, 3].reduce((now) => afterArrival(now, then, over(then, 100)), once)).toEqual(once)
})

test('a request always asks for 1 to 1000 profiles, and at most four run', () => {
  const event = fc.record({
    breaks: fc.boolean(),
    isLate: fc.boolean(),
    count: fc.nat({ max: 1000 }),
    bodyMs: fc.double({ min: 0, max: 1e7, noNaN: true }),
    totalMs: fc.double({ min: 0, max: 1e7, noNaN: true }),
  })
  fc.assert(
    fc.property(fc.array(event, { maxLength: 50 }), (events) => {
      let [before, now] = [FIRST, FIRST]
      for (const { breaks, isLate, ...arrival } of events) {
        const then = isLate ? before : now
        const next = breaks ? afterFailure(now, then, failure(true), 0) : afterArrival(now, then, arrival)
        ;[before, now] = [now, next]
        const size = nextSize(now)
        expect(Number.isInteger(size) && size >= 1 && size <= LARGEST_BATCH).toBe(true)
        expect([1, 2, 3, 4]).toContain(requestsAtOnce(now))
        if (breaks) expect(now.window).toBe(1)
      }
    }),
  )
})

test('a request asks for no more than is missing', () => {
  const first = firstPlan(130)
  const sent = afterSending(first)
  expect([sent, afterSending(sent)].map(nextSize)).toEqual([30, 0])
  // What a request has not brought is requested again.
  expect(nextSize(afterFailure(sent, first, failure(false), 0))).toBe(100)
  expect(afterStoring(sent, first, answerOf(90), 85).missing).toBe(45)
  // The service may send more than was requested.
  expect(nextSize(afterStoring(sent, first, answerOf(140), 140))).toBe(0)
})

test('another request begins only beside answers that fit into memory, and the second one when the first is stored', () => {
  const began = plan({ window: 4000 })
  const stored = afterStoring(began, began, answerOf(1000), 1000)
  expect([mayBegin(began, 0, 0), mayBegin(began, 0, 1)]).toEqual([true, false])
  const found = [mayBegin(stored, 3, 5), mayBegin(stored, 4, 5), mayBegin(stored, 3, 6)]
  expect(found).toEqual([true, false, false])
  expect(mayBegin({ ...stored, missing: 0 }, 0, 0)).toBe(false)
})

/** The plan after an answer that says how many requests are left, for how long. */
const limitedTo = (remaining: number | undefined, ms: number | undefined, now = 0) =>
  afterAnswer(plan({ window: 4000 }), FIRST, { ...answerOf(1), limit: { remaining, waitMs: ms } }, now)

test('at most as many requests at once as the last response said are left', () => {
  expect(requestsAtOnce(plan({ ...firstPlan(5000), window: 4000 }))).toBe(1)
  const left = [undefined, 9, 3, 1, 0].map((remaining) => requestsAtOnce(limitedTo(remaining, 1000)))
  expect(left).toEqual([4, 4, 3, 1, 1])
})

test('a request without a response may count too; one with a response says itself what is left', () => {
  const three = limitedTo(3, 1000)
  expect(requestsAtOnce(afterFailure(three, three, failure(false), 0))).toBe(2)
  const refused = new CallFailure('429', { isPassing: true, limit: { remaining: 0, waitMs: 700 } })
  expect(waitMs(afterFailure(three, three, refused, 50), 250)).toBe(500)
})

test('none before the reset if none is left; then one alone', () => {
  const none = limitedTo(0, 1000, 500)
  expect([600, 1499, 1500, 9000].map((now) => waitMs(none, now))).toEqual([900, 1, 0, 0])
  const others = [limitedTo(1, 1000), limitedTo(undefined, 1000), limitedTo(0, undefined)]
  expect(others.map((each) => waitMs(each, 0))).toEqual([0, 0, 0])
  const sent = afterSending(none)
  const failed = afterFailure(sent, none, failure(false), 1600)
  expect([none, sent, failed].map(requestsAtOnce)).toEqual([1, 1, 1])
})

/** What is left of the patience after failures at these seconds, one after the other. */
const failed = (from: Plan, isBroken: boolean, ...seconds: number[]) =>
  seconds.reduce((now, s) => afterFailure(now, now, failure(isBroken), s * 1000), from)

/** One that has been answered. */
const WORKED = afterArrival(failed(FIRST, true, 0, 1), FIRST, { count: 100, bodyMs: 1, totalMs: 1 })

const isOver = (now: Plan, ms: number) => !isWorthAnotherTry(now, failure(true), ms)

test('gives up after six requests in a row that may have cost profiles', () => {
  expect(isOver(failed(FIRST, true, 0, 1, 2, 3, 4), 5000)).toBe(false)
  expect(isOver(failed(FIRST, true, 0, 1, 2, 3, 4, 5), 5000)).toBe(true)
})

test('failures without cost are retried for half a minute, and for two minutes after a success', () => {
  const seconds = Array.from({ length: 20 }, (_, n) => n)
  expect([29_000, 30_000].map((ms) => isOver(failed(FIRST, false, ...seconds), ms))).toEqual([false, true])
  expect([119_000, 120_000].map((ms) => isOver(failed(WORKED, false, ...seconds), ms))).toEqual([false, true])
})

const REFUSED = new CallFailure('refused', { facts: 'refused', isPassing: true })

test('a first connection that is refused is tried for a few seconds, four times', () => {
  const over = (from: Plan, ...seconds: number[]) =>
    !isWorthAnotherTry(failed(from, false, ...seconds), REFUSED, (seconds.at(-1) ?? 0) * 1000)
  const got = [over(FIRST, 0, 1, 3), over(FIRST, 0, 1, 2, 3), over(WORKED, 0, 1, 2, 3)]
  expect(got).toEqual([false, true, false])
})

test('tries at least four times, however long each one takes', () => {
  expect(isOver(failed(FIRST, false, 0, 100, 200), 200_000)).toBe(false)
  expect(isOver(failed(FIRST, false, 0, 100, 200, 300), 300_000)).toBe(true)
})

test('only a passing failure of a request is tried again', () => {
  const errors = [failure(false), new CallFailure('no'), new Error('disk')]
  expect(errors.map((error) => isWorthAnotherTry(FIRST, error, 0))).toEqual([true, false, false])
})

test('which try is next, and how many there will be', () => {
  expect(triesOf(failed(FIRST, true, 0, 1), failure(true))).toBe('try 3 of 6')
  expect(triesOf(failed(FIRST, false, 0), failure(false))).toBe('try 2, up to 30 s')
  expect(triesOf(failed(FIRST, false, 0), REFUSED)).toBe('try 2, up to 3 s')
  expect(triesOf(failed(failed(WORKED, true, 0), false, 1), REFUSED)).toBe('try 3, up to 120 s')
})

test('parallel requests that fail together count as one failure', () => {
  const together = [1, 2, 3, 4].reduce((now) => afterFailure(now, WORKED, failure(true), 7000), WORKED)
  expect(together).toMatchObject({ hasWorked: true, failures: 1, broken: 1, since: 7000 })
})

test('many entries that can’t be used are too many if they are more than half', () => {
  const after = (good: number, refused: number) =>
    isMostlyRefused(afterStoring(FIRST, FIRST, answerOf(good, refused), good))
  const outcome = [after(10, 100), after(10, 101), after(101, 101), after(100, 101)]
  expect(outcome).toEqual([false, true, false, true])
})
