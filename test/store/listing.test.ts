/** Which names in a directory are profiles, and in which order they come, on a file system in memory. */
import fc from 'fast-check'
import { vol } from 'memfs'
import { beforeEach, expect, test, vi } from 'vitest'
import { iccidDigits } from '../../src/profile/iccid.ts'
import { hasFillers, readUnused, readUsed, unusedOf, whyNone } from '../../src/store/listing.ts'
import { fileName, usedName } from '../../src/store/names.ts'
import { digits } from '../support/arbitrary.ts'

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
  ['not one beside its used one', ['8988001.json', '__8988001F.json', '8988002f.json'], ['8988002f']],
  ['the last coming', ['__8988001.json', '__8988001.2.json', '8988001.3.json'], ['8988001.3']],
  ['none before one that is used again', ['8988001.json', '__8988001.2.json'], []],
  ['no hidden file, no list, no other ending', ['.8988001.json', 'profiles.json', '8988001.txt'], []],
])('%s', (_, names, iccids) => {
  expect([...listed(...names).iccids]).toEqual(iccids)
})

test('what looks like a profile and is none is named', () => {
  const names = ['package.json', '8988001 (1).json', '8988001.JSON', '__8988002.json']
  const { iccids, notProfiles, used } = listed(...names)
  const seen = [[...iccids], notProfiles, used]
  expect(seen).toEqual([[], ['8988001 (1).json', '8988001.JSON', 'package.json'], 1])
})

test('5,000 names', () => {
  const nameOf = (n: number) => `${n % 2 ? '' : '__'}8988${String(n).padStart(6, '0')}.json`
  const names = Array.from({ length: 5_000 }, (_, n) => nameOf(n))
  const { iccids, used } = listed(...names.toReversed(), '__8988000001.json~')
  const got = [iccids.length, [...iccids][0], used, readUsed('/lot').length, hasFillers('/lot')]
  expect(got).toEqual([2_500, '8988000001', 2_500, 2_500, false])
})

test.each([
  ['used where both files are there', '8988.json __8988.json 8989.json', '8989', '8988.json'],
  ['came back and is used', '__8988.json 8988.2.json __8988.2.json', '', '8988.2.json'],
  [
    'used again, both are back',
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
  const copies = ['8988 (1).json', '__8988 (1).json', '__backup.json']
  const names = [...copies, '８９８８.json', '8988.JSON', '__8988.Json']
  const actual = unusedOf([...names, '8988.json', 'a.txt'])
  expect(actual).toMatchObject({ notProfiles: names.sort(), notProfileCount: names.length, used: 0 })
  expect(unusedOf(['8988.json', '__8988.json']).used).toBe(1)
  const { notProfiles, notProfileCount } = unusedOf(Array.from({ length: 150 }, (_, n) => `copy ${n}.json`))
  expect([notProfiles.length, notProfileCount]).toEqual([100, 150])
})

/** Common ones, as 8 bytes, and others, as text; few enough values that some are the same. */
const iccid = fc
  .tuple(
    fc.oneof(digits(1, 20), fc.constantFrom('8988', '898800000000000000', '89880000000000000001')),
    fc.constantFrom('', '', 'F', 'f'),
  )
  .map((parts) => parts.join(''))

test('each unused ICCID once, in its first spelling, and none that is used in any', () => {
  fc.assert(
    fc.property(fc.array(iccid), fc.array(iccid), (iccids, used) => {
      const firsts = new Map<string, string>()
      for (const each of [...iccids].sort().reverse()) firsts.set(iccidDigits(each) ?? '', each)
      const gone = new Set(used.map(iccidDigits))
      const [twins, unused] = [true, false].map((hasTwin) =>
        [...firsts].flatMap(([plain, first]) => (gone.has(plain) === hasTwin ? first : [])).sort(),
      )
      const found = unusedOf([...iccids.map(fileName), ...used.map((each) => usedName(fileName(each)))])
      expect([...found.iccids].sort()).toEqual(unused)
      expect([...found.twins].sort()).toEqual(twins?.map(fileName))
      expect(found).toMatchObject({ notProfiles: [], notProfileCount: 0, used: gone.size })
    }),
  )
})

test('the lowest comes first, whatever the others begin with', () => {
  const long = ['88000000000000000001', '8900000000000000002', '89880000000000000009', '89880000000000000010']
  const iccids = ['7', ...long, '8999999999999999990F', '90000000000000000003', '91']
  expect(unusedOf(iccids.toReversed().map(fileName)).iccids).toEqual(iccids)
})

test('those that are too short for a device, or came back, come after the common ones', () => {
  const common = ['88000000000000000001', '89880000000000000009']
  const late = ['8988', '89880000000000000001.2', '9']
  expect(unusedOf([...late, ...common].map(fileName)).iccids).toEqual([...common, ...late])
})

const FILLED = ['8988F.json', '8988f.json', '__8988F.json', '__8988f.json']
test.each(FILLED)(
  'whether a directory has names with fillers, such as %s; it may, if it can’t be read',
  (name) => {
    listed('8989.json')
    expect(hasFillers('/lot')).toBe(false)
    listed(name)
    expect([hasFillers('/lot'), hasFillers('/missing')]).toEqual([true, true])
  },
)

test.each(['/file', '/file/profiles'])('a file in the place of a directory, or above it: %s', (path) => {
  vol.fromJSON({ '/file': '' })
  const failure = { facts: { kind: 'not-a-directory' }, message: `${path} is not a directory` }
  expect(() => readUnused(path)).toThrow(expect.objectContaining(failure))
})

test.each<[string, name: string, last: string, mode?: number]>([
  ['is used', '__1.json', 'lot-20'],
  ['is no profile', 'x.json', 'lot-20'],
  ['is in a hidden directory', '1.json', '.lot-20'],
  ['is in one that can’t be looked into', '1.json', 'lot-20', 0],
])('of a directory without profiles, another one in it is meant: not one whose file %s', (...row) => {
  const [, name, last, mode = 0o700] = row
  for (let n = 1; n < 20; n++) vol.mkdirSync(`/lots/lot-${n}`, { recursive: true })
  vol.fromJSON({ [`/lots/${last}/${name}`]: '' })
  vol.chmodSync(`/lots/${last}`, mode)
  expect(whyNone('/lots', 0, false)).toEqual({ kind: 'no-profiles', below: undefined })
})
