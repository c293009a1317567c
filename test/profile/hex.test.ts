import { crc32 as zlib } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newerProblems, problems } from '../../src/profile/check.ts'
import { encodeHex, FIELDS, type Profile } from '../../src/profile/hex.ts'
import { acceptable, hexOptions } from '../support/arbitrary.ts'
import { dataOf, plainProfile, readTlv } from '../support/profiles.ts'

const KEY = '000102030405060708090A0B0C0D0E0F'
const NOTHING = Object.fromEntries(FIELDS.map((field) => [field, null])) as Profile
const KNOWN: Profile = {
  ...NOTHING,
  ...{ iccid: '89000123456789012341', imsi: '001010123456063' },
  ...{ opc: '0'.repeat(32), k: KEY, kic: KEY, kid: KEY },
}
const KNOWN_HEX =
  '01120809101010325406360214980010325476981032140320000000000000000000000000000000000420000102030405060708090a0b0c0d0e0f0520000102030405060708090a0b0c0d0e0f0620000102030405060708090a0b0c0d0e0f'
const PLAIN = { smsp: false, smsc: true, crc: false }

test('the known profile, with its CRC and without', () => {
  expect(encodeHex(KNOWN, PLAIN)).toBe(KNOWN_HEX)
  expect(encodeHex(KNOWN, { ...PLAIN, crc: true })).toBe(`${KNOWN_HEX}fe08610658d0`)
})

test.each([
  ['imsi', '234602102350049', '0112082943061220530094'],
  ['imsi', '234602102349958', '0112082943061220439985'],
  ['imsi', '001010123456063', '0112080910101032540636'],
  ['imsi', '00101012345606', '01120801101010325406f6'],
  ['imsi', '310170', '011204310171f0ffffffff'],
  ['iccid', '89457300000013500452', '021498543700000031054025'],
  ['iccid', '8988000000000000017', '0214988800000000000010f7'],
  ['smsc', '+447797704848', '0c180791447779078484ffffffff'],
  ['smsc', '+44779770484', '0c1807914477790784f4ffffffff'],
  ['smsc', '0044 (7797) 70-4848', '0c18089100447779078484ffffff'],
  ['smsc', '12345678901234567890', '0c180b9121436587092143658709'],
  ['pin', '1234', '080831323334'],
  ['adm', '12345678', '0a103132333435363738'],
  ['adm', '0123456789abcdef', '0a2030313233343536373839616263646566'],
  ['adm', '0123456789ABCDEF', '0a2030313233343536373839414243444546'],
] as const)('%s %s alone', (field, value, expected) => {
  expect(encodeHex({ ...NOTHING, [field]: value }, PLAIN)).toBe(expected)
})

test('a filler at the end of an ICCID does not count as a digit', () => {
  for (const filler of ['', 'F', 'f']) {
    const [odd, even] = [`8988000000000000017${filler}`, `89880000000000000176${filler}`]
    expect(dataOf(encodeHex({ ...KNOWN, iccid: odd }, PLAIN), '02')).toBe('988800000000000010f7')
    expect(dataOf(encodeHex({ ...KNOWN, iccid: even }, PLAIN), '02')).toBe('98880000000000001067')
  }
})

test('the longest line has the length that the README states', () => {
  const longest = { ...plainProfile(1), pin: '12345678', adm: '0123456789abcdef' }
  const all = { smsp: true, smsc: true, crc: true }
  expect(problems(longest, all)).toEqual([])
  const lengths = [all, { ...all, smsp: false }].map((options) => encodeHex(longest, options).length)
  expect(lengths).toEqual([414, 306])
})

/** The number of characters a device accepts in each record: so many, or one of several. */
const LENGTHS: Record<string, readonly number[]> = {
  ...Object.fromEntries(['03', '04', '05', '06'].map((tag) => [tag, [32]])),
  ...{ '01': [18], '02': [20], '07': [104], '0c': [24], fe: [8] },
  '08': [8, 10, 12, 14, 16],
  '0b': [8, 10, 12, 14, 16],
  '0a': [8, 10, 12, 14, 16, 32],
}

const swapped = (text = '') => text.replace(/(.)(.)/g, '$2$1')
const textOf = (data: string | undefined) => (data === undefined ? null : Buffer.from(data, 'hex').toString())

/** The profile that a device makes of a line: all that the line says. */
function decoded(text: string): Profile {
  const data = (tag: string) => dataOf(text, tag)
  const [imsi, smsc] = [data('01') ?? '', data('0c')]
  const read = swapped(imsi.slice(2, 2 + 2 * Number.parseInt(imsi.slice(0, 2), 16)))
  return {
    iccid: swapped(data('02')).replace(/f$/, ''),
    imsi: read.startsWith('9') ? read.slice(1) : read.slice(1, -1),
    opc: data('03') ?? null,
    k: data('04') ?? null,
    kic: data('05') ?? null,
    kid: data('06') ?? null,
    smsp: data('07') ?? null,
    smsc: smsc === undefined ? null : `+${swapped(smsc.slice(4)).replaceAll('f', '')}`,
    pin: textOf(data('08')),
    puk: textOf(data('0b')),
    adm: textOf(data('0a')),
  }
}

const ORDER = '01 02 03 04 05 06 07 0c 08 0b 0a fe'.split(' ')
const lower = (text: string | null) => text?.toLowerCase() ?? null

test('a device reads every acceptable profile back from its line, and nothing else is in the line', () => {
  fc.assert(
    fc.property(acceptable, hexOptions, (profile, options) => {
      expect([...problems(profile, options), ...newerProblems(profile, true)]).toEqual([])
      const text = encodeHex(profile, options)
      expect(text).toMatch(/^[0-9a-f]{1,414}$/)
      const found = readTlv(text)
      for (const { tag, data } of found) expect(LENGTHS[tag], tag).toContain(data.length)
      const tags = found.map(({ tag }) => tag)
      expect(tags).toEqual(ORDER.filter((tag) => tags.includes(tag)))
      expect(decoded(text)).toEqual({
        ...profile,
        ...{ opc: lower(profile.opc), k: lower(profile.k) },
        ...{ kic: lower(profile.kic), kid: lower(profile.kid) },
        smsp: options.smsp ? lower(profile.smsp) : null,
        smsc: options.smsc ? profile.smsc : null,
      })
      const crc = zlib(text.slice(0, -12)).toString(16).padStart(8, '0')
      expect(text.slice(-12) === `fe08${crc}`).toBe(options.crc)
    }),
    { numRuns: 200 },
  )
})
