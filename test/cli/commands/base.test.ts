import { describe, expect, test } from 'vitest'
import { checkIccid, parseTime } from '../../../src/cli/commands/base.ts'

describe('--since', () => {
  const now = new Date(2026, 2, 1, 14, 30)

  test.each([
    ['today', new Date(2026, 2, 1)],
    ['yesterday', new Date(2026, 1, 28)],
    ['06:00', new Date(2026, 2, 1, 6)],
    ['23:59', new Date(2026, 1, 28, 23, 59)],
    ['2026-02-03', new Date(2026, 1, 3)],
    ['2026-02-03 06:07', new Date(2026, 1, 3, 6, 7)],
    ['2026-02-03T06:07:08Z', new Date(Date.UTC(2026, 1, 3, 6, 7, 8))],
  ])('%s', (text, time) => {
    expect(parseTime(text, now)).toEqual(time)
  })

  test.each(['', 'tomorrow', 'Today', '6:00', '24:00', '06:60', '06:00Z', 'now'])('%s is no time', (text) => {
    expect(() => parseTime(text, now)).toThrow('the value of --since is not a time')
  })
})

test.each(['8988000000000000001', '89880000000000000017'])(
  '--iccid %s, with a filler in either case',
  (digits) => {
    for (const filler of ['', 'F', 'f']) expect(checkIccid(digits + filler)).toBe(digits)
  },
)
