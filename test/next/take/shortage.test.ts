import { expect, test } from 'vitest'
import { shortage } from '../../../src/next/take/shortage.ts'
import { temporaryDirectory } from '../../support/directory.ts'

const NONE = { count: 1, usable: 0, skipped: 0, isHeld: false, used: 0, unfinished: 0 }

test.each([
  [1, '1 claim'],
  [2, '2 claims'],
])('%i claims of other calls', (unfinished, claims) => {
  expect(shortage(temporaryDirectory(), { ...NONE, unfinished }).hint).toMatch(
    RegExp(`^other calls have not finished ${claims}: run the same command again, `),
  )
})
