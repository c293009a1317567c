import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type Arrival,
  afterArrival,
  afterBreak,
  batchOf,
  callsOf,
  FIRST_WINDOW,
  LARGEST_BATCH,
  type Window,
} from '../../src/fetch/window.ts'

/** What a whole answer says of a line that brings so many profiles a second to all calls together. */
function over(window: Window, perSecond: number, waitMs = 200): Arrival {
  const bodyMs = ((batchOf(window) * callsOf(window)) / perSecond) * 1000
  return { count: batchOf(window), bodyMs, totalMs: bodyMs + waitMs }
}

/** The windows of so many calls, one after the other. */
function windows(count: number, perSecond: number, from = FIRST_WINDOW, waitMs?: number): Window[] {
  const all = [from]
  while (all.length < count) {
    const last = all.at(-1) ?? from
    all.push(afterArrival(last, last, over(last, perSecond, waitMs)))
  }
  return all
}

const sizes = (all: readonly Window[]) => all.map(({ size }) => size)

test('it doubles up to the largest batch, then several run in parallel', () => {
  const all = windows(8, 399)
  expect(sizes(all)).toEqual([100, 200, 400, 800, 1000, 2000, 3000, 3000])
  expect(all.map(batchOf)).toEqual([100, 200, 400, 800, 1000, 1000, 1000, 1000])
  expect(all.map(callsOf)).toEqual([1, 1, 1, 1, 1, 2, 3, 3])
})

test('on a fast connection it grows eightfold, unless a request has failed', () => {
  expect(sizes(windows(4, 100_000))).toEqual([100, 800, 1000, 4000])
  expect(sizes(windows(3, 399))).toEqual([100, 200, 400])
  expect(sizes(windows(3, 401))).toEqual([100, 800, 1000])
})

test('it does not grow eightfold if the service takes so long that more could take over a minute', () => {
  const window = (totalMs: number) =>
    afterArrival(FIRST_WINDOW, FIRST_WINDOW, { count: 100, bodyMs: 1, totalMs }).size
  expect([7500, 7501].map(window)).toEqual([800, 200])
})

test.each([
  [11, '64 kbit/s'],
  [22, '128 kbit/s'],
  [80, 'half a Mbit/s'],
])('%i profiles per second (%s): one request, for what arrives within ten seconds', (perSecond) => {
  const all = windows(20, perSecond)
  expect(all.map(callsOf)).toEqual(Array(20).fill(1))
  expect(all.at(-1)?.size).toBe(10 * perSecond)
})

test('parallel requests are limited to what arrives within ten seconds', () => {
  for (const [perSecond, calls] of [
    [170, 1],
    [250, 2],
    [330, 3],
    [1000, 4],
  ] as const) {
    expect(callsOf(windows(20, perSecond).at(-1) ?? FIRST_WINDOW), `${perSecond} a second`).toBe(calls)
  }
})

test('a slow start of a response does not count as a slow connection', () => {
  expect(sizes(windows(7, 100_000, FIRST_WINDOW, 30_000)).at(-1)).toBe(4000)
})

test('a request that took a minute in total does not grow, because something may delay responses', () => {
  const arrival = { count: 100, bodyMs: 1, totalMs: 61_000 }
  expect(afterArrival(FIRST_WINDOW, FIRST_WINDOW, arrival)).toEqual(FIRST_WINDOW)
})

test('a short response shows how long a full one would take', () => {
  const full = { size: 1000, threshold: 4000 }
  expect(afterArrival(full, full, { count: 100, bodyMs: 2000, totalMs: 2100 }).size).toBe(500)
})

test('after a broken request it starts again, doubles up to half of that size, and then grows in steps', () => {
  const first = afterBreak({ size: 1000, threshold: 4000 })
  expect(sizes(windows(9, 100_000, first))).toEqual([25, 50, 100, 200, 400, 500, 550, 600, 650])
})

test('four parallel requests that break change it once, and the results of the others do not undo that', () => {
  const then = { size: 4000, threshold: 4000 }
  const now = afterBreak(then)
  expect(afterBreak(then)).toEqual(now)
  expect(afterArrival(now, then, over(then, 100_000))).toEqual(now)
})

test('four slow parallel requests change it once', () => {
  const then = { size: 4000, threshold: 4000 }
  const once = afterArrival(then, then, over(then, 100))
  expect(once.size).toBe(1000)
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
      let [before, now] = [FIRST_WINDOW, FIRST_WINDOW]
      for (const { breaks, isLate, ...arrival } of events) {
        const then = isLate ? before : now
        const next = breaks ? afterBreak(then) : afterArrival(now, then, arrival)
        ;[before, now] = [now, next]
        expect(Number.isInteger(batchOf(now)) && batchOf(now) >= 1 && batchOf(now) <= LARGEST_BATCH).toBe(
          true,
        )
        expect([1, 2, 3, 4]).toContain(callsOf(now))
        if (breaks) expect(now.size).toBe(25)
      }
    }),
  )
})
