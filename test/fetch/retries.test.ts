import { expect, test } from 'vitest'
import {
  afterFailure,
  isOver,
  NEW_PATIENCE,
  type Patience,
  RENEWED_PATIENCE,
  triesOf,
} from '../../src/fetch/retries.ts'

/** What is left after failures at these seconds, one after the other. */
const failed = (from: Patience, isBroken: boolean, ...seconds: number[]) =>
  seconds.reduce((patience, s) => afterFailure(patience, patience, isBroken, s * 1000), from)

test('gives up after six requests in a row that may have cost profiles', () => {
  expect(isOver(failed(NEW_PATIENCE, true, 0, 1, 2, 3, 4), 5000)).toBe(false)
  expect(isOver(failed(NEW_PATIENCE, true, 0, 1, 2, 3, 4, 5), 5000)).toBe(true)
})

test('failures without cost are retried for half a minute, and for two minutes after a success', () => {
  const seconds = Array.from({ length: 20 }, (_, n) => n)
  expect(isOver(failed(NEW_PATIENCE, false, ...seconds), 29_000)).toBe(false)
  expect(isOver(failed(NEW_PATIENCE, false, ...seconds), 30_000)).toBe(true)
  expect(isOver(failed(RENEWED_PATIENCE, false, ...seconds), 119_000)).toBe(false)
  expect(isOver(failed(RENEWED_PATIENCE, false, ...seconds), 120_000)).toBe(true)
})

test('tries at least four times, however long each one takes', () => {
  expect(isOver(failed(NEW_PATIENCE, false, 0, 100, 200), 200_000)).toBe(false)
  expect(isOver(failed(NEW_PATIENCE, false, 0, 100, 200, 300), 300_000)).toBe(true)
})

test('which try is next, and how many there will be', () => {
  expect(triesOf(failed(NEW_PATIENCE, true, 0, 1))).toBe('try 3 of 6')
  expect(triesOf(failed(NEW_PATIENCE, false, 0))).toBe('try 2, up to 30 s')
  expect(triesOf(failed(failed(RENEWED_PATIENCE, true, 0), false, 1))).toBe('try 3, up to 120 s')
})

test('parallel requests that fail together count as one failure', () => {
  const together = [1, 2, 3, 4].reduce(
    (patience) => afterFailure(patience, RENEWED_PATIENCE, true, 7000),
    RENEWED_PATIENCE,
  )
  expect(together).toEqual({ hasWorked: true, failures: 1, broken: 1, since: 7000 })
})
