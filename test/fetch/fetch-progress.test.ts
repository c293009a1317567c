import { expect, test } from 'vitest'
import { viewOf } from '../../src/fetch/download.ts'

const silent = { warn() {}, tell() {} }
const tally = { stored: 0 }
const viewAt = (count: number) => {
  tally.stored = 0
  return viewOf(count, tally, silent, () => {})
}

test('how far it is, and how long it will take', () => {
  const view = viewAt(50_000)
  expect(view.line(3000)).toBe('0 % (0 of 50000)')
  tally.stored = 1
  view.noteStored(1000)
  const seen = [1, 12_499, 12_600, 49_999, 50_000].map((each) => {
    tally.stored = each
    view.noteStored(61_000)
    return view.line(61_000)
  })
  // One answer alone says nothing about the time that the others will take.
  expect(seen).toEqual([
    '0 % (1 of 50000)',
    '24 % (12499 of 50000), 4 min left',
    '25 % (12600 of 50000), 3 min left',
    '99 % (49999 of 50000), 1 s left',
    '100 % (50000 of 50000)',
  ])
})

test('the rate limit, until profiles arrive again', () => {
  const view = viewAt(8)
  tally.stored = 4
  view.noteLimit(40_000, 2000)
  expect(view.line(2000)).toBe('50 % (4 of 8), waiting 40 s for the rate limit')
  expect(view.line(41_500)).toBe('50 % (4 of 8), waiting 1 s for the rate limit')
  expect([42_000, 50_000].map((now) => view.line(now))).toEqual(['50 % (4 of 8)', '50 % (4 of 8)'])
  view.noteStored(50_000)
  expect(view.line(51_000)).toBe('50 % (4 of 8)')
  tally.stored = 6
  expect(view.line(52_000)).toBe('75 % (6 of 8), 2 s left')
})

test('why it tries again, when, and for how long', () => {
  const view = viewAt(3)
  view.noteRetry('the service refuses the connection (ECONNREFUSED)', 1500, 'try 3 of 6', 2000)
  const line = (when: string) =>
    `0 % (0 of 3), the service refuses the connection; trying again ${when} (try 3 of 6)`
  const actual = [2000, 3000, 3499, 3500, 9000].map((now) => view.line(now))
  expect(actual).toEqual(['in 2 s', 'in 1 s', 'in 1 s', 'now', 'now'].map(line))
})

test('messages: waits, tries and steps with -v, bad entries as warnings; waits and tries are noted', () => {
  const said: string[] = []
  const messages = {
    warn: (text: string) => void said.push(`warning: ${text}`),
    tell: (level: number, text: string) => void said.push(`${level}: ${text}`),
  }
  let notes = 0
  const view = viewOf(8, { stored: 4 }, messages, () => void notes++)
  view.noteLimit(1500, 0)
  view.noteRetry('it refuses (ECONNREFUSED)', 1500, 'try 3 of 6', 0)
  view.noteRefused(['entry 1: no ICCID', 'entry 2: no profile'])
  view.noteStored(0)
  expect(said).toEqual([
    '1: waiting 2 s for the rate limit',
    '1: it refuses (ECONNREFUSED); trying again in 2 s (try 3 of 6)',
    'warning: entry 1: no ICCID; not stored',
    'warning: entry 2: no profile; not stored',
    '1: 4 of 8 profiles stored',
  ])
  expect(notes).toBe(2)
})
