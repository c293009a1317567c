import { expect, test } from 'vitest'
import { adviceOn } from '../../src/cli/advice/advice.ts'
import { conclude } from '../../src/fetch/conclusion.ts'
import { CallFailure } from '../../src/service/call-failure.ts'

const messages = { warn() {}, tell() {} }

const order = { count: 10, directory: 'profiles', messages, stop: new AbortController().signal }

/** The hint of a fetch of ten that stored three, put some aside, and then could not reach the service any more. */
function hintWith(putAside: number): string {
  const failure = new CallFailure('the connection was reset', { facts: 'other-host' })
  const download = { requests: 3, broken: 0, brokenProfiles: 0, failure }
  const tally = { stored: 3, known: 0, putAside, lost: 0, refused: 0 }
  try {
    conclude(order, download, tally, 1)
  } catch (error) {
    return adviceOn(error).hint
  }
  return ''
}

test('profiles that are put aside are not fetched again', () => {
  expect([0, 4, 7].map(hintWith)).toEqual([
    'check --url; to fetch the rest, use -n 7',
    'check --url; to fetch the rest, use -n 3',
    'check --url; the next fetch or next stores the rest',
  ])
})
