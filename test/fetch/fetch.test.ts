import { expect, test } from 'vitest'
import { type Advice, adviceOn } from '../../src/advice/advice.ts'
import { Failure } from '../../src/failure.ts'
import type { Download } from '../../src/fetch/download.ts'
import { conclude } from '../../src/fetch/fetch.ts'
import { CallFailure } from '../../src/service/call-failure.ts'
import type { Tally } from '../../src/store/incoming/add.ts'

/** What a fetch of ten profiles ends with: what it says, and its failure. */
function endOf(tally: Partial<Tally>, download: Partial<Download> = {}, isStopped = false) {
  const said: string[] = []
  const messages = {
    warn: (text: string) => void said.push(`warning: ${text}`),
    tell: (level: number, text: string) => void said.push(`${level}: ${text}`),
  }
  const stop = isStopped ? AbortSignal.abort() : new AbortController().signal
  let failure: unknown
  try {
    conclude(
      { count: 10, directory: 'D', messages, stop },
      { requests: 3, broken: 0, brokenProfiles: 0, failure: undefined, trouble: undefined, ...download },
      { stored: 0, known: 0, putAside: 0, lost: 0, refused: 0, ...tally },
      1.25,
    )
  } catch (error) {
    failure = error
  }
  const advice: Partial<Advice> = failure === undefined ? {} : adviceOn(failure)
  return { said, failure, ...advice }
}

const BROKEN = new CallFailure('the connection was reset', { facts: 'other-host' })
const FULL = new Failure('space-for-batch', 'no space')

test('all are stored: this is told, also what went wrong on the way', () => {
  expect(endOf({ stored: 10 }).said).toEqual(['0: stored 10 profiles in D (3 requests, 1.3 s)'])
  expect(endOf({ stored: 10 }, { failure: BROKEN }).failure).toBeUndefined()
  const actual = endOf({ stored: 10 }, { broken: 2, brokenProfiles: 8 }).said[0]
  expect(actual).toMatch(/^warning: 2 requests failed after they were sent: up to 8 profiles /)
})

test('what is not stored is listed', () => {
  const { message } = endOf({ stored: 1, putAside: 2, lost: 3, refused: 4 }, { failure: BROKEN })
  expect(message).toBe(
    "stored 1 of 10 profiles in D, 2 more put aside there, 3 received but not stored, 4 received that can't be used (3 requests, 1.3 s): the connection was reset",
  )
})

test.each([
  [0, 'check --url; to fetch the rest, use -n 7'],
  [4, 'check --url; to fetch the rest, use -n 3'],
  [7, 'check --url; the next fetch or next stores the rest'],
])('some are stored, and %i are put aside: those are not fetched again', (putAside, hint) => {
  expect(endOf({ stored: 3, putAside }, { failure: BROKEN })).toMatchObject({ outcome: 'partial', hint })
})

test('profiles are lost: the hint says whom to ask', () => {
  const { failure, said, ...end } = endOf({ lost: 1 }, { failure: FULL })
  expect(said).toHaveLength(1)
  expect(end).toMatchObject({
    outcome: 'disk',
    message: 'no space',
    hint: expect.stringMatching(/^ask the service provider for the profiles named above/),
  })
})

test.each([
  [{}, 'to fetch the rest, use -n 10'],
  [{ stored: 4, putAside: 6 }, 'the next fetch or next stores the rest'],
])('a signal: it is interrupted, whatever is stored: %j', (tally, hint) => {
  expect(endOf(tally, { failure: BROKEN }, true)).toMatchObject({
    outcome: 'interrupted',
    message: expect.stringMatching(/^interrupted: stored /),
    hint,
  })
})

test('a signal while it tries again: the last cause is named', () => {
  const seen = endOf({}, { trouble: BROKEN }, true).message
  expect(seen).toMatch(/^interrupted: stored 0 .*: the connection was reset$/)
})
