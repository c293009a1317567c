import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { adviceOn } from '../../src/advice/advice.ts'
import { UnusableProfile } from '../../src/failure.ts'
import { shortage } from '../../src/next/search.ts'
import { temporaryDirectory } from '../support/directory.ts'

type Found = Partial<Record<'usable' | 'used' | 'skipped' | 'held' | 'unreadable' | 'count', number>>

const EIO = Object.assign(new Error('EIO'), { code: 'EIO' })

/** What is said where one profile is wanted, and this was found. */
function said(directory: string, found: Found) {
  const { count = 1, usable = 0, used = 0, skipped = 0, held = 0, unreadable = 0 } = found
  const unread = unreadable > 0 ? new UnusableProfile('unreadable', 'why', { cause: EIO }) : undefined
  const files = { count: skipped, held, unreadable, unread }
  return adviceOn(shortage(directory, { count, usable }, { used }, files))
}

/** A directory in which a fetch has put one profile aside. */
function receiving(): string {
  const directory = temporaryDirectory()
  mkdirSync(join(directory, '.incoming'))
  writeFileSync(join(directory, '.incoming', 'x.answer'), '{"iccid":"8988","profile":"AAAA"}\n')
  return directory
}

test.each([
  [{}, 'no-profiles', 'no unused profile in D'],
  [{ skipped: 1, unfinished: 1 }, 'no-profiles', 'no unused profile in D can be used yet'],
])('what a fetch has received comes first: %j', (found, outcome, message) => {
  const directory = receiving()
  const advice = said(directory, found)
  expect([advice.outcome, advice.message.replace(directory, 'D')]).toEqual([outcome, message])
  expect(advice.hint).toMatch(/^1 profile that a running or interrupted call received will be stored/)
})

test.each([
  [{ used: 0 }, 'no-profiles', /^check -i/],
  [{ used: 1 }, 'no-profiles', /^all profiles in it are used/],
  [{ skipped: 1, held: 1 }, 'disk', /^close them/],
  [{ skipped: 1 }, 'unusable', /^see the warning for each file/],
  [{ skipped: 1, usable: 1 }, 'no-profiles', /^softsim status -k counts/],
  [{ skipped: 2, unreadable: 1 }, 'disk', /^connect the share/],
  [{ skipped: 1, unreadable: 1, count: 3 }, 'disk', /^connect the share/],
  [{ skipped: 1, unreadable: 1, count: 3, usable: 2 }, 'disk', /^connect the share/],
  [{ skipped: 1, unreadable: 1, count: 3, usable: 1 }, 'no-profiles', /^softsim status -k counts/],
])('too few: %j', (found, outcome, hint) => {
  expect(said(temporaryDirectory(), found)).toMatchObject({ outcome, hint: expect.stringMatching(hint) })
})
