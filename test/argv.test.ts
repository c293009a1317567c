import fc from 'fast-check'
import { expect, test } from 'vitest'
import { normalize } from '../src/argv.ts'

test.each([
  [
    ['fetch', '-n5'],
    ['fetch', '-n=5'],
  ],
  [
    ['fetch', '-n=5'],
    ['fetch', '-n=5'],
  ],
  [
    ['fetch', '-n', '5'],
    ['fetch', '-n', '5'],
  ],
  [
    ['next', '-kkeys/my.pem', '-iprofiles'],
    ['next', '-k=keys/my.pem', '-i=profiles'],
  ],
  [
    ['fetch', '-ahttps=odd'],
    ['fetch', '-a=https=odd'],
  ],
  [
    ['next', '--format', 'json'],
    ['next', '--format=json'],
  ],
  [
    ['next', '--format', '--crc'],
    ['next', '--format', '--crc'],
  ],
  [
    ['next', '--format'],
    ['next', '--format'],
  ],
  [
    ['next', '--format=raw', 'extra'],
    ['next', '--format=raw', 'extra'],
  ],
  [
    ['-vvv', 'next'],
    ['-vvv', 'next'],
  ],
  [['--count=5'], ['--count=5']],
])('%j', (typed, expected) => expect(normalize(typed)).toEqual(expected))

test('what it has brought into form stays as it is', () => {
  const word = fc.oneof(
    fc.constantFrom('fetch', 'next', '--format', '-n5', '-n', '-vvv', '-k=a', '--', '-', '-aKEY', 'json', ''),
    fc.string(),
  )
  fc.assert(
    fc.property(fc.array(word), (argv) => {
      expect(normalize(normalize(argv))).toEqual(normalize(argv))
    }),
  )
})
