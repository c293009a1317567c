import { join } from 'node:path'
import { expect, test } from 'vitest'
import { moveProfiles } from '../../src/move/move.ts'
import { directoryOf, namesIn, someProfiles, temporaryDirectory } from '../support/directory.ts'

test('an interruption after the last profile is said to be too late', async () => {
  const target = join(temporaryDirectory(), 'profiles')
  const interrupt = new AbortController()
  const said: string[] = []
  await moveProfiles({
    source: directoryOf(someProfiles(3)),
    target,
    count: 2,
    receipt: undefined,
    stop: interrupt.signal,
    messages: {
      warn: (text) => said.push(text),
      tell(_, text) {
        said.push(text)
        if (text === '2 moved') interrupt.abort()
      },
    },
    progress: { follow: () => {} },
  })
  expect(namesIn(target)).toHaveLength(2)
  expect(said.at(-2)).toMatch(/^the interruption came too late: the move is complete/)
  expect(said.at(-1)).toMatch(/^2 profiles moved to /)
})
