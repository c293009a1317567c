import fc from 'fast-check'
import type { Profile } from '../../src/profile/hex.ts'
import { iccid } from './profiles.ts'

const from = (characters: string, minLength: number, maxLength = minLength) =>
  fc.string({ unit: fc.constantFrom(...characters), minLength, maxLength })

export const digits = (minLength: number, maxLength = minLength) => from('0123456789', minLength, maxLength)

const hexDigits = (length: number) => from('0123456789abcdefABCDEF', length)

const printable = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
})
const secret = printable.filter((text) => text.length >= 4 && text.length <= 8)

export const anyText = fc.string({ unit: 'binary', maxLength: 60 })
export const anyIccid = fc.oneof(
  fc.constantFrom(iccid(1), `${iccid(2, 19)}F`, `${iccid(3)}\n`, '1', '\u0661'),
  fc.constantFrom('', '../x', '/etc/passwd', '__1'),
  anyText,
)
const entry = fc.oneof(
  fc.record({ iccid: anyIccid, profile: fc.oneof(fc.base64String(), anyText) }, { requiredKeys: [] }),
  fc.jsonValue(),
)
/** Any response of the service. */
export const answer = fc.oneof(
  fc
    .record({ count: fc.integer(), profiles: fc.array(entry, { maxLength: 6 }) })
    .map((each) => JSON.stringify(each)),
  fc.json(),
  anyText,
)

const absentOr = (field: fc.Arbitrary<string>) => fc.option(field, { nil: null })

/** Any profile that every device accepts. */
export const acceptable: fc.Arbitrary<Profile> = fc.record({
  ...{ iccid: digits(19, 20), imsi: digits(6, 15) },
  ...{ opc: hexDigits(32), k: hexDigits(32), kic: hexDigits(32), kid: hexDigits(32) },
  pin: absentOr(digits(4, 8)),
  puk: absentOr(secret),
  adm: absentOr(fc.oneof(secret, hexDigits(16))),
  smsp: absentOr(hexDigits(104)),
  smsc: absentOr(digits(1, 20).map((number) => `+${number}`)),
})

export const hexOptions = fc.record({ smsp: fc.boolean(), smsc: fc.boolean(), crc: fc.boolean() })
