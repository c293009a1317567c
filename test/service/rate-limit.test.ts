import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readLimit, tooLongAskedMs } from '../../src/service/rate-limit.ts'

const NOW = Date.parse('2026-03-01T12:00:00Z')
/** The service's clock is an hour behind this machine's. */
const SERVICE_NOW = NOW - 3_600_000
const date = new Date(SERVICE_NOW).toUTCString()
const epoch = (ms: number) => String(ms / 1000)

test('the headers of a granted request', () => {
  const headers = { 'x-ratelimit-remaining': '599', 'x-ratelimit-reset': epoch(NOW + 30_000) }
  expect(readLimit(200, headers, NOW)).toEqual({ remaining: 599, waitMs: 30_000 })
})

test('the service’s clock is used', () => {
  const headers = { date, 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': epoch(SERVICE_NOW + 5000) }
  expect(readLimit(200, headers, NOW)).toEqual({ remaining: 0, waitMs: 5000 })
  expect(readLimit(200, headers, NOW - 7_200_000)).toEqual({ remaining: 0, waitMs: 5000 })
})

test('without headers, the limit is unknown', () => {
  expect(readLimit(200, {}, NOW)).toEqual({ remaining: undefined, waitMs: undefined })
})

test.each([429, 503])('%i: Retry-After, in seconds or as a date', (status) => {
  const reset = { 'x-ratelimit-reset': epoch(SERVICE_NOW + 50_000) }
  const at = new Date(SERVICE_NOW + 9000).toUTCString()
  expect(readLimit(status, { date, ...reset, 'retry-after': '7' }, NOW)).toEqual({
    remaining: 0,
    waitMs: 7000,
  })
  expect(readLimit(status, { date, ...reset, 'retry-after': at }, NOW)).toEqual({
    remaining: 0,
    waitMs: 9000,
  })
})

test.each([429, 503])('%i: a pause of more than two minutes is not waited for', (status) => {
  const pauseOf = (asked: string, headers = {}) =>
    tooLongAskedMs(status, { ...headers, 'retry-after': asked })
  expect(['120', '121', '3600', 'soon', ''].map((asked) => pauseOf(asked))).toEqual([
    undefined,
    121_000,
    3_600_000,
    undefined,
    undefined,
  ])
  const at = new Date(SERVICE_NOW + 600_000).toUTCString()
  expect([pauseOf(at, { date }), pauseOf(at)]).toEqual([600_000, undefined])
  expect(tooLongAskedMs(200, { 'retry-after': '3600' })).toBeUndefined()
})

test('429 without Retry-After: the reset is used', () => {
  const headers = { date, 'x-ratelimit-remaining': '12', 'x-ratelimit-reset': epoch(SERVICE_NOW + 8000) }
  expect(readLimit(429, headers, NOW)).toEqual({ remaining: 0, waitMs: 8000 })
})

test('503 without Retry-After counts as the rate limit only if no request is left', () => {
  const headers = { date, 'x-ratelimit-reset': epoch(SERVICE_NOW + 8000) }
  for (const remaining of [12, 0]) {
    const read = readLimit(503, { ...headers, 'x-ratelimit-remaining': String(remaining) }, NOW)
    expect(read).toEqual({ remaining, waitMs: 8000 })
  }
})

test('Retry-After is ignored on any other response', () => {
  expect(readLimit(500, { 'retry-after': '60' }, NOW).waitMs).toBeUndefined()
})

test('a reset in the past means no wait', () => {
  const headers = { date, 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': epoch(SERVICE_NOW - 60_000) }
  expect(readLimit(200, headers, NOW).waitMs).toBe(0)
})

test('any headers lead to no wait or a bounded wait', () => {
  const value = fc.oneof(fc.string(), fc.integer().map(String), fc.date().map(String), fc.constant(undefined))
  const names = ['date', 'retry-after', 'x-ratelimit-remaining', 'x-ratelimit-reset']
  const headers = fc.record(Object.fromEntries(names.map((name) => [name, value])))
  fc.assert(
    fc.property(fc.constantFrom(200, 429, 500, 503), headers, (status, each) => {
      const { remaining = 0, waitMs = 0 } = readLimit(status, each, NOW)
      expect(waitMs).toBeGreaterThanOrEqual(0)
      expect(waitMs).toBeLessThanOrEqual(120_000)
      expect(remaining).toBeGreaterThanOrEqual(0)
    }),
  )
})
