import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  fileName,
  keyOf,
  parseName,
  spellings,
  unusedOf,
  usedName,
  whyNoProfile,
} from '../../src/store/names.ts'
import { hasFillers } from '../../src/store/read.ts'
import { digits } from '../support/arbitrary.ts'
import { temporaryDirectory } from '../support/directory.ts'

/** More of them: listing.test.ts. */
test.each([
  ['used where both files are there', '8988.json __8988.json 8989.json', '8989', '8988.json'],
  ['came back and is used', '__8988.json 8988.2.json __8988.2.json', '', '8988.2.json'],
  [
    'used again, and both unused files are back',
    '8988.json __8988.json 8988.2.json __8988.2.json',
    '',
    '8988.json 8988.2.json',
  ],
  ['used with a filler, back without', '8988F.json __8988F.json 8988.2.json', '8988.2', '8988F.json'],
])('the unused profiles among names: %s', (_, names, iccids, twins = '') => {
  const found = unusedOf(names.split(' '))
  expect([[...found.iccids].join(' '), found.twins.join(' ')]).toEqual([iccids, twins])
  expect(found.notProfiles).toEqual([])
})

test('a name that looks like a profile but is not an ICCID, or is in capitals, is listed separately', () => {
  const names = [
    '8988 (1).json',
    '__8988 (1).json',
    '__backup.json',
    '８９８８.json',
    '8988.JSON',
    '__8988.Json',
  ]
  expect(unusedOf([...names, '8988.json', 'a.txt'])).toMatchObject({
    notProfiles: names.sort(),
    notProfileCount: names.length,
    used: 0,
  })
  expect(unusedOf(['8988.json', '__8988.json']).used).toBe(1)
  const { notProfiles, notProfileCount } = unusedOf(Array.from({ length: 150 }, (_, n) => `copy ${n}.json`))
  expect([notProfiles.length, notProfileCount]).toEqual([100, 150])
})

test.each([
  ['8988 (1).json', '8988.json'],
  ['__8988(12).json', '__8988.json'],
  ['8988F - Copy.json', '8988F.json'],
  ['8988 - Kopie (2).json', '8988.json'],
  ['8988 copy 2.json', '8988.json'],
  ...['package.json', '{}.json', '8988x.json', 'copy (1).json', '8988-1.json'].map((name) => [name]),
])('%s is no profile, but perhaps a copy of %s', (name, original) =>
  expect(whyNoProfile(name)).toBe(
    original ? `its name is that of a copy of ${original}` : 'its name is not an ICCID and .json',
  ),
)

test('every ICCID is in one of its two states', () => {
  const entry = fc.record({ iccid: digits(1, 20), isUsed: fc.boolean() })
  const entries = fc.uniqueArray(entry, { selector: ({ iccid }) => iccid })
  fc.assert(
    fc.property(entries, (profiles) => {
      const names = profiles.map(({ iccid, isUsed }) =>
        isUsed ? usedName(fileName(iccid)) : fileName(iccid),
      )
      const unused = profiles.filter(({ isUsed }) => !isUsed).map(({ iccid }) => iccid)
      const used = profiles.length - unused.length
      const { iccids, ...rest } = unusedOf(names)
      expect([...iccids].sort()).toEqual(unused.sort())
      expect(rest).toEqual({ notProfiles: [], notProfileCount: 0, twins: [], used })
    }),
  )
})

test.each(['8988F.json', '8988f.json', '__8988F.json', '__8988f.json'])(
  'whether a directory has names with fillers, such as %s; it may, if it can’t be read',
  (name) => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, '8989.json'), '')
    expect(hasFillers(directory)).toBe(false)
    writeFileSync(join(directory, name), '')
    expect(hasFillers(directory)).toBe(true)
    expect(hasFillers(join(directory, 'missing'))).toBe(true)
  },
)

test.each<[name: string, says?: ReturnType<typeof parseName>]>([
  ['8988.json', { digits: '8988', number: 1, isUsed: false }],
  ['__8988F.json', { digits: '8988', number: 1, isUsed: true }],
  ['8988.2.json', { digits: '8988', number: 2, isUsed: false }],
  ['__8988f.12.json', { digits: '8988', number: 12, isUsed: true }],
  ...['8988.1.json', '8988.02.json', '8988.2', '8988.2.3.json', '8988.-2.json'].map((name): [string] => [
    name,
  ]),
])('%s says: %j', (name, says) => expect(parseName(name)).toEqual(says))

test('a profile that came back has the same key in each spelling', () => {
  expect(spellings('8988F.2.json')).toEqual(['8988F.2.json', '8988.2.json', '8988f.2.json'])
  const keys = spellings('8988.2.json').map((name) => keyOf(parseName(name) ?? { digits: '', number: 0 }))
  expect(new Set(keys)).toEqual(new Set(['8988.2']))
})
