import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  encodeAscii,
  encodeIccid,
  encodeImsi,
  encodeSmsc,
  hexByte,
  swapNibbles,
} from '../../src/profile/encodings.ts'
import { digits, hexDigits } from '../support/arbitrary.ts'

test.each([
  ['001010123456063', '080910101032540636'],
  ['234602102350049', '082943061220530094'],
  ['234602102349958', '082943061220439985'],
])('IMSI %s', (imsi, expected) => expect(encodeImsi(imsi)).toBe(expected))

test('an IMSI with an even number of digits has the other parity and a filler', () => {
  expect(encodeImsi('00101012345606')).toBe('0801101010325406f6')
})

test('a short IMSI states its length in bytes and is padded to the length for a device', () => {
  expect(encodeImsi('310170')).toBe('04310171f0ffffffff')
})

test.each([
  ['89457300000013500452', '98543700000031054025'],
  ['89000123456789012341', '98001032547698103214'],
  ['8988000000000000017', '988800000000000010f7'],
])('ICCID %s', (iccid, expected) => expect(encodeIccid(iccid)).toBe(expected))

test.each([
  ['+447797704848', '0791447779078484ffffffff'],
  ['+44779770484', '07914477790784f4ffffffff'],
  ['0044 (7797) 70-4848', '089100447779078484ffffff'],
  ['12345678901234567890', '0b9121436587092143658709'],
])('SMSC %s', (number, expected) => expect(encodeSmsc(number)).toBe(expected))

test('PIN 1234', () => expect(encodeAscii('1234')).toBe('31323334'))

test('a byte is two hex digits, whatever its value', () => {
  expect([0, 9, 10, 15, 16, 255].map(hexByte)).toEqual(['00', '09', '0a', '0f', '10', 'ff'])
})

test('swapping nibbles twice changes nothing', () => {
  fc.assert(
    fc.property(hexDigits(20), (text) => {
      expect(swapNibbles(swapNibbles(text))).toBe(text)
    }),
  )
})

test('the digits of every IMSI can be read back as a SIM reads them', () => {
  fc.assert(
    fc.property(digits(6, 15), (imsi) => {
      const field = encodeImsi(imsi)
      expect(field).toHaveLength(18)
      const bytes = Number.parseInt(field.slice(0, 2), 16)
      const nibbles = swapNibbles(field.slice(2, 2 + bytes * 2))
      expect(Number(nibbles[0]) & 8 ? nibbles.slice(1) : nibbles.slice(1, -1)).toBe(imsi)
      expect(Number(nibbles[0]) & 7).toBe(1)
    }),
  )
})

test('every number of a message centre fits into its record', () => {
  fc.assert(
    fc.property(digits(1, 20), (number) => {
      const field = encodeSmsc(number)
      expect(field).toHaveLength(24)
      const bytes = Number.parseInt(field.slice(0, 2), 16)
      expect(swapNibbles(field.slice(4, 2 + bytes * 2)).replace('f', '')).toBe(number)
      expect(field.slice(2 + bytes * 2)).toMatch(/^f*$/)
    }),
  )
})
