import { expect, test } from 'vitest'
import { keyOf, keyOfName, nextName, parseName, spellings, whyNoProfile } from '../../src/store/names.ts'

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
  expect(['8988F.json', '__8988.3.json', 'x.json'].map(keyOfName)).toEqual(['8988', '8988.3', 'x.json'])
})

test('the next name has no filler', () => {
  const seen = ['8988.json', '8988F.json', '8988F.9.json'].map(nextName)
  expect(seen).toEqual(['8988.2.json', '8988.2.json', '8988.10.json'])
})
