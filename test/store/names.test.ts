import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  fileName,
  keyOf,
  parseName,
  spellings,
  type Unused,
  unusedOf,
  usedName,
  whyNoProfile,
} from '../../src/store/names.ts'
import { hasFillers } from '../../src/store/read.ts'
import { digits } from '../support/arbitrary.ts'
import { temporaryDirectory } from '../support/directory.ts'

const listed = (found: Unused) => ({ ...found, iccids: [...found.iccids] })

test('a profile’s file is named after its ICCID, with two underscores in front when it is used', () => {
  expect(fileName('8988')).toBe('8988.json')
  expect(usedName(fileName('8988'))).toBe('__8988.json')
})

test('the unused profiles, lowest first', () => {
  const names = ['89881.json', '8988.json', '__89882.json', '89880.json', '8988F.json']
  expect([...unusedOf(names).iccids]).toEqual(['8988', '89880', '89881'])
})

test('a profile with both an unused and a used file counts as used', () => {
  expect(listed(unusedOf(['8988.json', '__8988.json', '8989.json']))).toEqual({
    iccids: ['8989'],
    notProfiles: [],
    notProfileCount: 0,
    twins: ['8988.json'],
    used: 1,
  })
})

test('other files are ignored', () => {
  const others = [
    'profiles.json',
    'profiles-2.json',
    '.8988.json',
    '.incoming',
    '8988.txt',
    '8988',
    '8988.json~',
  ]
  expect(listed(unusedOf([...others, '.json']))).toEqual({
    iccids: [],
    notProfiles: [],
    notProfileCount: 0,
    twins: [],
    used: 0,
  })
})

test('a name that looks like a profile but is not an ICCID is listed separately', () => {
  const notProfiles = ['8988 (1).json', '__8988 (1).json', '__backup.json', 'backup.json', '８９８８.json']
  expect(listed(unusedOf([...notProfiles, '8988.json']))).toEqual({
    iccids: ['8988'],
    notProfiles: notProfiles.sort(),
    notProfileCount: 5,
    twins: [],
    used: 0,
  })
})

test.each([
  ['8988 (1).json', '8988.json'],
  ['__8988(12).json', '__8988.json'],
  ['8988F - Copy.json', '8988F.json'],
  ['8988 - Kopie (2).json', '8988.json'],
  ['8988 copy 2.json', '8988.json'],
])('%s is a copy of %s', (name, original) =>
  expect(whyNoProfile(name)).toBe(`its name is that of a copy of ${original}`),
)

test.each(['package.json', '{}.json', '8988x.json', 'copy (1).json', '8988-1.json'])('%s is none', (name) =>
  expect(whyNoProfile(name)).toBe('its name is not an ICCID and .json'),
)

test('of many such names, some are listed and all are counted', () => {
  const { notProfiles, notProfileCount } = unusedOf(Array.from({ length: 150 }, (_, n) => `copy ${n}.json`))
  expect([notProfiles.length, notProfileCount]).toEqual([100, 150])
})

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

test('a name in capitals is not a profile: it is counted and named, and not handed out', () => {
  const names = [
    '89880000000000000017.JSON',
    '__89880000000000000025.Json',
    '89880000000000000033.json',
    'a.txt',
  ]
  const { iccids, notProfiles, notProfileCount, used } = unusedOf(names)
  expect([[...iccids], notProfiles, notProfileCount, used]).toEqual([
    ['89880000000000000033'],
    ['89880000000000000017.JSON', '__89880000000000000025.Json'],
    2,
    0,
  ])
})

describe('a profile that came back', () => {
  test.each<[name: string, says: ReturnType<typeof parseName>]>([
    ['8988.json', { digits: '8988', number: 1, isUsed: false }],
    ['__8988F.json', { digits: '8988', number: 1, isUsed: true }],
    ['8988.2.json', { digits: '8988', number: 2, isUsed: false }],
    ['__8988f.12.json', { digits: '8988', number: 12, isUsed: true }],
  ])('%s says: %j', (name, says) => {
    expect(parseName(name)).toEqual(says)
  })

  test.each(['8988.1.json', '8988.02.json', '8988.2', '8988.2.3.json', '8988.-2.json', 'x.2.json'])(
    'has another name than %s',
    (name) => {
      expect(parseName(name)).toBeUndefined()
    },
  )

  test('has the same key in each spelling', () => {
    expect(spellings('8988F.2.json')).toEqual(['8988F.2.json', '8988.2.json', '8988f.2.json'])
    const keys = spellings('8988.2.json').map((name) => keyOf(parseName(name) ?? { digits: '', number: 0 }))
    expect(new Set(keys)).toEqual(new Set(['8988.2']))
  })

  test.each([
    ['unused: only the last time counts', ['__8988.json', '8988.2.json'], ['8988.2'], []],
    ['also beside what it was before', ['8988.json', '8988.2.json', '8988.3.json'], ['8988.3'], []],
    [
      'used: what it was before is not unused',
      ['__8988.json', '8988.2.json', '__8988.2.json'],
      [],
      ['8988.2.json'],
    ],
    [
      'used again, and both unused files are back',
      ['8988.json', '__8988.json', '8988.2.json', '__8988.2.json'],
      [],
      ['8988.json', '8988.2.json'],
    ],
    [
      'used with a filler, and back without',
      ['8988F.json', '__8988F.json', '8988.2.json'],
      ['8988.2'],
      ['8988F.json'],
    ],
  ])('%s', (_, names, iccids, twins) => {
    const found = unusedOf(names)
    expect([[...found.iccids], found.twins]).toEqual([iccids, twins])
  })
})
