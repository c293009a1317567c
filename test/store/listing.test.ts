/** Which names in a directory are profiles, and in which order they come, on a file system in memory. */
import { vol } from 'memfs'
import { beforeEach, expect, test, vi } from 'vitest'
import { hasFillers, readUnused, readUsed } from '../../src/store/read.ts'

vi.mock('node:fs', async () => (await import('memfs')).fs)

beforeEach(() => vol.reset())

/** What is read in a directory with files of these names. */
function listed(...names: string[]) {
  vol.fromJSON(Object.fromEntries(names.map((name) => [name, ''])), '/lot')
  return readUnused('/lot')
}

test.each([
  ['the lowest first', ['8988003.json', '8988001.json', '8988002.json'], ['8988001', '8988002', '8988003']],
  ['not the used ones', ['8988001.json', '__8988002.json'], ['8988001']],
  [
    'not one beside its used one, in any spelling',
    ['8988001.json', '__8988001F.json', '8988002f.json'],
    ['8988002f'],
  ],
  [
    'the last coming of one that came back',
    ['__8988001.json', '__8988001.2.json', '8988001.3.json'],
    ['8988001.3'],
  ],
  ['none before one that is used again', ['8988001.json', '__8988001.2.json'], []],
  ['no hidden file, no list, no other ending', ['.8988001.json', 'profiles.json', '8988001.txt'], []],
])('%s', (_, names, iccids) => {
  expect([...listed(...names).iccids]).toEqual(iccids)
})

test('what looks like a profile and is none is named', () => {
  const { iccids, notProfiles, used } = listed(
    'package.json',
    '8988001 (1).json',
    '8988001.JSON',
    '__8988002.json',
  )
  expect([[...iccids], notProfiles, used]).toEqual([
    [],
    ['8988001 (1).json', '8988001.JSON', 'package.json'],
    1,
  ])
})

test('5,000 names', () => {
  const names = Array.from(
    { length: 5_000 },
    (_, n) => `${n % 2 ? '' : '__'}8988${String(n).padStart(6, '0')}.json`,
  )
  const { iccids, used } = listed(...names.toReversed())
  expect([iccids.length, [...iccids][0], used, readUsed('/lot').length, hasFillers('/lot')]).toEqual([
    2_500,
    '8988000001',
    2_500,
    2_500,
    false,
  ])
})
