import { crc32 as zlib } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { crc32 } from '../../src/profile/crc.ts'

test.each([
  ['', 0],
  ['123456789', 0xcbf43926],
])('the check value of %j', (text, expected) => expect(crc32(text)).toBe(expected))

test('it matches zlib', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary-ascii', maxLength: 500 }), (text) => {
      expect(crc32(text)).toBe(zlib(text))
    }),
  )
})
