import { expect, test } from 'vitest'
import { encodeHex, FIELDS, type Profile } from '../../src/profile/hex.ts'
import { encodeJson, encodeRaw } from '../../src/profile/json.ts'
import { plainProfile } from '../support/profiles.ts'

const NOTHING = Object.fromEntries(FIELDS.map((field) => [field, null])) as Profile
const PLAIN = { smsp: false, smsc: true, crc: false }

const FULL: Profile = {
  ...plainProfile(1),
  ...{ iccid: '89457300000013500452', imsi: '234602102350049' },
  k: '000102030405060708090A0B0C0D0E0F',
  opc: '101112131415161718191A1B1C1D1E1F',
  kic: '202122232425262728292A2B2C2D2E2F',
  kid: '303132333435363738393A3B3C3D3E3F',
}
const entriesOf = (profile: Profile, options = PLAIN): { name: string; file: string; content: string }[] =>
  JSON.parse(encodeJson(profile, options)).additional_fields

test('the whole, on one line', () => {
  const { k, opc, kic, kid } = FULL
  const text = encodeJson(FULL, { ...PLAIN, crc: true })
  expect(text).not.toMatch(/[\r\n]/)
  expect(Object.keys(JSON.parse(text).profile)).toEqual([...FIELDS])
  expect(JSON.parse(text)).toEqual({
    profile: FULL,
    additional_fields: [
      { name: 'encoded imsi', file: '/3f00/7ff0/6f07', content: '082943061220530094' },
      { name: 'encoded iccid', file: '/3f00/2fe2', content: '98543700000031054025' },
      { name: 'Key material for attaching to network', file: '/3f00/a001', content: `${k}${opc}00` },
      {
        name: 'Key material for OTA related functions',
        file: '/3f00/a004',
        content: `b00011060101${kic}${kid}${'f'.repeat(152)}`,
      },
      { name: 'Hex encoded profile', file: 'n/a', content: encodeHex(FULL, { ...PLAIN, crc: true }) },
    ],
  })
})

test('an absent field is null and has no file', () => {
  const { iccid, imsi, k, opc } = FULL
  const profile = { ...NOTHING, iccid, imsi, k, opc }
  expect(JSON.parse(encodeJson(profile, PLAIN)).profile).toEqual(profile)
  const seen = entriesOf(profile).map(({ file }) => file)
  expect(seen).toEqual(['/3f00/7ff0/6f07', '/3f00/2fe2', '/3f00/a001', 'n/a'])
})

const FILES = { kic: '/3f00/a004', kid: '/3f00/a004', opc: '/3f00/a001' }

test.each(Object.entries(FILES))('without %s there is no %s', (field, file) => {
  expect(entriesOf({ ...FULL, [field]: null }).map((entry) => entry.file)).not.toContain(file)
})

test('raw is only the profile', () => {
  expect(encodeRaw(FULL)).toBe(JSON.stringify(JSON.parse(encodeJson(FULL, PLAIN)).profile))
  expect(encodeRaw({ ...NOTHING, iccid: '8988' })).toBe(
    '{"iccid":"8988","k":null,"opc":null,"kid":null,"kic":null,"imsi":null,"pin":null,"puk":null,"adm":null,"smsp":null,"smsc":null}',
  )
})
