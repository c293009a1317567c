import { expect, test } from 'vitest'
import { encodeJson, encodeRaw, type Profile } from '../../src/profile/formats.ts'
import { plainProfile } from '../support/profiles.ts'

const PLAIN = { smsp: false, smsc: true, crc: false }
const FULL: Profile = {
  ...plainProfile(1),
  ...{ iccid: '89457300000013500452', imsi: '234602102350049' },
  k: '000102030405060708090A0B0C0D0E0F',
  opc: '101112131415161718191A1B1C1D1E1F',
  kic: '202122232425262728292A2B2C2D2E2F',
  kid: '303132333435363738393A3B3C3D3E3F',
}
const ORDER = ['iccid', 'k', 'opc', 'kid', 'kic', 'imsi', 'pin', 'puk', 'adm', 'smsp', 'smsc']
const nothing = Object.fromEntries(ORDER.map((field) => [field, null])) as Profile

const entriesOf = (profile: Profile, options = PLAIN): { name: string; file: string; content: string }[] =>
  JSON.parse(encodeJson(profile, options)).additional_fields

test('an absent field is null and has no file', () => {
  const { iccid, imsi, k, opc } = FULL
  const profile = { ...nothing, iccid, imsi, k, opc }
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
  expect(encodeRaw({ ...nothing, iccid: '8988' })).toBe(
    '{"iccid":"8988","k":null,"opc":null,"kid":null,"kic":null,"imsi":null,"pin":null,"puk":null,"adm":null,"smsp":null,"smsc":null}',
  )
})
