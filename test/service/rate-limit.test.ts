import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { readLimit } from '../../src/service/answer.ts'

afterEach(() => void vi.unstubAllEnvs())

const NOW = Date.parse('2026-03-01T12:00:00Z')
const date = new Date(NOW).toUTCString()
const at = (ms: number) => new Date(NOW + ms)
const [, , , , time] = at(9000).toUTCString().split(' ')
const windowOf = (remaining: number | string, reset: number | string) => ({
  ...{ date, 'x-ratelimit-remaining': String(remaining), 'x-ratelimit-reset': String(reset) },
})
const SECONDS = NOW / 1000

test.each<[string, number, Record<string, string | string[]>, remaining: number | undefined, waitMs: number]>(
  [
    ['Unix time', 200, windowOf(0, SECONDS + 5), 0, 5000],
    ['Unix time in milliseconds', 200, windowOf(0, NOW + 5000), 0, 5000],
    ['the seconds that are left', 200, windowOf(0, 5), 0, 5000],
    ['many seconds', 200, windowOf(0, 999_999_999), 0, 999_999_999_000],
    ['Unix time of 2001', 200, windowOf(3, 1_000_000_000), 3, 0],
    ['Unix time of 5138', 200, windowOf(0, 99_999_999_999), 0, 99_999_999_999_000 - NOW],
    ['Unix time in milliseconds of 1973', 200, windowOf(2, 100_000_000_000), 2, 0],
    ['a fraction of a request', 200, windowOf('0.5', 5), 1, 5000],
    ['a fraction, rounded up', 200, windowOf(0, SECONDS + 4.2), 0, 5000],
    ['the past', 200, windowOf(3, SECONDS - 60), 3, 0],
    ['a far future', 200, windowOf(0, SECONDS + 86_400), 0, 86_400_000],
    ['a negative number: no header', 200, windowOf(-1, -5), undefined, 60_000],
    ['NaN: no header', 200, windowOf('NaN', 'NaN'), undefined, 60_000],
    ['another notation: no header', 200, windowOf('1e3', '0x10'), undefined, 60_000],
    ['no clock of the service: no header', 200, { ...windowOf(0, SECONDS), date: '' }, 0, 60_000],
    ['none', 200, {}, undefined, 60_000],
    ['with 429', 429, windowOf(12, SECONDS + 8), 0, 8000],
    ['none with 429', 429, {}, 0, 60_000],
    ['with 503', 503, windowOf(12, SECONDS + 8), 12, 8000],
  ],
)('x-ratelimit-reset: %s', (_, status, headers, remaining, waitMs) => {
  expect(readLimit(status, headers)).toEqual({ remaining, waitMs })
})

test.each<[string | string[], number]>([
  ['7', 7000],
  ['0', 0],
  ['45.5', 46_000],
  ['3600', 3_600_000],
  [at(9000).toUTCString(), 9000],
  [`Sunday, 01-Mar-26 ${time} GMT`, 9000],
  [`Sun Mar  1 ${time} 2026`, 9000],
  [at(-9000).toUTCString(), 0],
  // What has no form of RFC 9110 is no header: the window is over in a minute.
  ...['', '-5', '+5', '5s', 'NaN', '1e3', '5, 5', 'soon', 'Sunday', '2026-03-01', at(9000).toISOString()].map(
    (text) => [text, 60_000] as [string, number],
  ),
  [['5', '7'], 60_000],
])('Retry-After: %j', (header, waitMs) => {
  expect(readLimit(429, { date, 'retry-after': header })).toEqual({ remaining: 0, waitMs })
  // On an answer that is no refusal it says nothing.
  expect(readLimit(200, { date, 'retry-after': header })).toEqual({ remaining: undefined, waitMs: 60_000 })
})

test('a date without a zone is in GMT, wherever this machine is', () => {
  vi.stubEnv('TZ', 'America/New_York')
  expect(new Date(NOW).getTimezoneOffset()).not.toBe(0)
  const headers = { date, 'retry-after': `Sun Mar  1 ${time} 2026` }
  expect(readLimit(429, headers)).toEqual({ remaining: 0, waitMs: 9000 })
})

test('a date counts only beside the date of the service', () => {
  const headers = { 'retry-after': at(9000).toUTCString() }
  expect(readLimit(503, headers)).toEqual({ remaining: undefined, waitMs: 60_000 })
})

test('any headers give a number of requests and a time that are not negative', () => {
  const value = fc.oneof(fc.string(), fc.double().map(String), fc.date().map(String), fc.constant(undefined))
  const names = ['date', 'retry-after', 'x-ratelimit-remaining', 'x-ratelimit-reset']
  const headers = fc.record(Object.fromEntries(names.map((name) => [name, value])))
  fc.assert(
    fc.property(fc.constantFrom(200, 429, 500, 503), headers, (status, each) => {
      const { remaining = 0, waitMs } = readLimit(status, each)
      expect(Math.min(remaining, waitMs)).toBeGreaterThanOrEqual(0)
    }),
  )
})
