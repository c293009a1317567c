import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readLimit, tooLongAskedMs } from '../../src/service/rate-limit.ts'

const NOW = Date.parse('2026-03-01T12:00:00Z')
/** The service's clock is an hour behind this machine's. */
const SERVICE_NOW = NOW - 3_600_000
const date = new Date(SERVICE_NOW).toUTCString()
const epoch = (ms: number) => String(ms / 1000)

const retryAt = new Date(SERVICE_NOW + 9000).toUTCString()
const windowOf = (remaining: number, endsMs: number) => ({
  date,
  'x-ratelimit-remaining': String(remaining),
  'x-ratelimit-reset': epoch(SERVICE_NOW + endsMs),
})

test.each<[string, number, Record<string, string>, remaining?: number, waitMs?: number]>([
  ['by the clock of the service', 200, windowOf(0, 5000), 0, 5000],
  ['without that clock', 200, { ...windowOf(599, 3_630_000), date: '' }, 599, 30_000],
  ['without headers', 200, {}],
  ['a reset in the past', 200, windowOf(0, -60_000), 0, 0],
  ['Retry-After in seconds', 429, { ...windowOf(12, 50_000), 'retry-after': '7' }, 0, 7000],
  ['Retry-After as a date', 429, { ...windowOf(12, 50_000), 'retry-after': retryAt }, 0, 9000],
  ['Retry-After in seconds', 503, { ...windowOf(12, 50_000), 'retry-after': '7' }, 0, 7000],
  ['Retry-After as a date', 503, { ...windowOf(12, 50_000), 'retry-after': retryAt }, 0, 9000],
  ['without Retry-After: the reset is used', 429, windowOf(12, 8000), 0, 8000],
  ['without any: the window is over in a minute', 429, {}, 0, 60_000],
  ['without Retry-After: no limit if requests are left', 503, windowOf(12, 8000), 12, 8000],
  ['without Retry-After: the limit if none is left', 503, windowOf(0, 8000), 0, 8000],
  ['Retry-After on any other response', 500, { 'retry-after': '60' }],
])('%s: %i', (_, status, headers, remaining, waitMs) => {
  expect(readLimit(status, headers, NOW)).toEqual({ remaining, waitMs })
  // A clock of this machine that is two hours off makes no difference where the service tells its own.
  if (headers['date']) expect(readLimit(status, headers, NOW - 7_200_000)).toEqual({ remaining, waitMs })
})

test.each([429, 503])('%i: a pause of more than two minutes is not waited for', (status) => {
  const pauseOf = (asked: string, more = {}) => tooLongAskedMs(status, { ...more, 'retry-after': asked })
  const seen = ['120', '121', '3600', 'soon', ''].map((asked) => pauseOf(asked))
  expect(seen).toEqual([undefined, 121_000, 3_600_000, undefined, undefined])
  const at = new Date(SERVICE_NOW + 600_000).toUTCString()
  expect([pauseOf(at, { date }), pauseOf(at)]).toEqual([600_000, undefined])
  expect(tooLongAskedMs(200, { 'retry-after': '3600' })).toBeUndefined()
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
