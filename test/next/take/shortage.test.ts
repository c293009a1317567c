import { expect, test } from 'vitest'
import { adviceOn } from '../../../src/cli/advice/advice.ts'
import { shortage } from '../../../src/next/take/shortage.ts'
import { temporaryDirectory } from '../../support/directory.ts'

test.each([
  [1, '1 claim'],
  [2, '2 claims'],
])('%i claims of other calls', (unfinished, claims) => {
  const twins = Array.from({ length: unfinished }, (_, at) => `${at}.json`)
  const wanted = { count: 1, usable: 0 }
  const failure = shortage(temporaryDirectory(), wanted, { used: 0, twins }, { count: 0, held: 0 })
  expect(adviceOn(failure).hint).toMatch(
    RegExp(`^other calls have not finished ${claims}: run the same command again, `),
  )
})
