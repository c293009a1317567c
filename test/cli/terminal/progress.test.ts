import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { Report } from '../../../src/cli/report.ts'
import { cut, startLog } from '../../../src/cli/terminal/progress.ts'
import { hasColour } from '../../../src/cli/terminal/streams.ts'

test('a log gets a line when something changes, at most one in ten seconds, and else two a minute', () => {
  vi.useFakeTimers()
  let said = 0
  let line = '0 %'
  const progress = startLog(new Report(() => void said++))
  progress.follow(() => line)
  const after = (ms: number) => {
    vi.advanceTimersByTime(ms)
    return said
  }
  expect([after(9999), after(1), after(29_999), after(1)]).toEqual([0, 1, 1, 2])
  // A countdown is no change.
  line = '0 %, waiting 9 s'
  expect([after(9999), after(1)]).toEqual([2, 3])
  line = '0 %, waiting 8 s'
  expect(after(20_000)).toBe(3)
  line = '0 %, the service is down'
  progress.note()
  expect(said).toBe(4)
  line = '1 %'
  progress.note()
  expect([said, after(9999), after(1)]).toEqual([4, 4, 5])
  progress.end()
  expect(after(60_000)).toBe(5)
  vi.useRealTimers()
})

test('a text that is too long for the line is cut', () => {
  const seen = ['123456', '1234567', '1234567890'].map((text) => cut(text, 6))
  expect(seen).toEqual(['123456', '123...', '123...'])
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: 3, max: 90 }), (text, columns) => {
      expect(cut(text, columns).length).toBeLessThanOrEqual(columns)
    }),
  )
})

test('colour', () => {
  expect([{}, { TERM: 'xterm' }, { NO_COLOR: '' }].map(hasColour)).toEqual([true, true, true])
  expect([{ TERM: 'dumb' }, { NO_COLOR: '1' }].map(hasColour)).toEqual([false, false])
})
