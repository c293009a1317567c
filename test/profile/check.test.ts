import { describe, expect, test } from 'vitest'
import { UnusableProfile } from '../../src/failure.ts'
import {
  missingKeys,
  NRF_REJECTS,
  newerProblems,
  parsePlaintext,
  problems,
  refuseOutdated,
} from '../../src/profile/check.ts'
import { FIELDS, type Field, type Profile } from '../../src/profile/hex.ts'
import { plainProfile } from '../support/profiles.ts'

const OPTIONS = { smsp: false, smsc: true, crc: false }
const PLAIN = plainProfile(1)
const { iccid } = PLAIN
const stored = { iccid }

const plaintext = (changes: object = {}) => Buffer.from(JSON.stringify({ ...PLAIN, ...changes }))

/** Why something is refused: the fault and the sentence. */
function refusal(action: () => unknown): string {
  try {
    action()
  } catch (error) {
    if (!(error instanceof UnusableProfile)) throw error
    return `${error.fault}: ${error.message}`
  }
  throw new Error('it was accepted')
}

test('a field that is absent, null or empty is null', () => {
  const { pin: _, ...rest } = PLAIN
  expect(parsePlaintext(stored, plaintext(), OPTIONS)).toEqual(PLAIN)
  const bytes = Buffer.from(JSON.stringify({ ...rest, puk: null, adm: '', unknown: [1] }))
  expect(parsePlaintext(stored, bytes, OPTIONS)).toEqual({ ...PLAIN, pin: null, puk: null, adm: null })
})

test('if the plaintext has no ICCID, the one in the file is used', () => {
  for (const none of [undefined, null, '']) {
    expect(parsePlaintext(stored, plaintext({ iccid: none }), OPTIONS).iccid).toBe(iccid)
  }
})

test('a filler in one of the two does not make the ICCIDs differ', () => {
  for (const [inside, outside] of [
    [`${iccid}F`, iccid],
    [iccid, `${iccid}f`],
  ]) {
    const opened = parsePlaintext({ ...stored, iccid: outside ?? '' }, plaintext({ iccid: inside }), OPTIONS)
    expect(opened.iccid).toBe(inside)
  }
})

test.each([
  ['not JSON', Buffer.from('{"iccid":')],
  ['not an object', Buffer.from('"text"')],
  ['a number in a field', plaintext({ pin: 1234 })],
  ['an array in a field', plaintext({ k: [] })],
  ['a list', Buffer.from('[]')],
  ['null', Buffer.from('null')],
  ['another ICCID', plaintext({ iccid: '89880000000000000025' })],
])('a plaintext is unfit: %s', (_, bytes) => {
  expect(refusal(() => parsePlaintext(stored, bytes, OPTIONS))).toMatch(/^unfit: ./)
})

test('a profile that a device would refuse is unfit; the message says why and shows no key', () => {
  const said = (changes: object) => refusal(() => parsePlaintext(stored, plaintext(changes), OPTIONS))
  expect(said({ opc: null })).toBe('unfit: a device would reject it: no OPc')
  expect(said({ k: 'DEADBEEF', opc: null })).toBe(
    'unfit: a device would reject it: no OPc, K is not 32 hex digits',
  )
})

const ALL = { smsp: true, smsc: true, crc: false }
const GOOD: Profile = plainProfile(1)

const problemsWith = (field: Field, value: string | null, options = ALL) =>
  problems({ ...GOOD, [field]: value }, options)

/** A row for each value of each field. */
const rows = (values: Partial<Record<Field, string[]>>) =>
  Object.entries(values).flatMap(([field, all]) => all.map((value) => [field as Field, value] as const))

test.each(
  rows({
    imsi: ['1'.repeat(6), '1'.repeat(15)],
    iccid: ['8'.repeat(19), '8'.repeat(20), `${'8'.repeat(19)}F`, `${'8'.repeat(20)}f`],
    opc: ['abcdefABCDEF01234567890123456789'],
    k: ['abcdefABCDEF01234567890123456789'],
    kic: ['abcdefABCDEF01234567890123456789'],
    kid: ['abcdefABCDEF01234567890123456789'],
    pin: ['1', '1234', '12345678'],
    puk: ['1', '12345678', '!~aZ'],
    adm: ['a!~Z0+/=', '0123456789abcDEF', '~', '!'],
    smsp: ['F'.repeat(104), 'f0'.repeat(52)],
    smsc: ['1', `+${'1'.repeat(20)}`, '0044 (7797) 70-4848'],
  }),
)('%s %s is accepted', (field, value) => expect(problemsWith(field, value)).toEqual([]))

/** What is said of each field that has another form. */
const SENTENCES: Record<Field, string> = {
  imsi: 'the IMSI is not 6 to 15 digits',
  iccid: 'the ICCID is not 19 or 20 digits',
  opc: 'OPc is not 32 hex digits',
  k: 'K is not 32 hex digits',
  kic: 'KIC is not 32 hex digits',
  kid: 'KID is not 32 hex digits',
  smsp: 'SMSP is not 104 hex digits',
  smsc: 'the SMSC does not have 1 to 20 digits',
  pin: 'the PIN is not 4 to 8 digits',
  puk: 'the PUK is not 4 to 8 ASCII characters',
  adm: 'the ADM is not 4 to 8 ASCII characters or 16 hex digits',
}

test.each(
  rows({
    imsi: ['1'.repeat(5), '1'.repeat(16), '00101012345606x', ' 001010123456063', '001010123456063\n'],
    iccid: ['8'.repeat(18), '8'.repeat(21), `${'8'.repeat(18)}FF`],
    opc: ['0'.repeat(31), '0'.repeat(33)],
    k: ['0'.repeat(33), `${'0'.repeat(31)}g`, `${'0'.repeat(32)}\n`],
    kic: ['0'.repeat(31), '0'.repeat(33)],
    kid: ['0'.repeat(31), '0'.repeat(33)],
    pin: ['123456789', '12ab', '12 4', '1234\n'],
    puk: ['123456789', 'naïve', 'a b', '12\x7f4', '1234\n'],
    adm: [
      '123456789',
      'a b',
      '12\x7f4',
      '0'.repeat(15),
      '0'.repeat(17),
      `${'0'.repeat(15)}g`,
      `${'0'.repeat(16)}\n`,
    ],
    smsp: ['F'.repeat(103), 'F'.repeat(105), `${'F'.repeat(103)}g`],
    smsc: ['+', '1'.repeat(21)],
  }),
)('%s %j is refused in one sentence that does not show the value', (field, value) => {
  const found = problemsWith(field, value)
  expect(found).toEqual([SENTENCES[field]])
  expect(found[0]?.toLowerCase()).toContain(field)
  expect(found[0]).not.toContain(value)
})

test.each<Field>(['imsi', 'iccid', 'opc', 'k'])('%s is required', (field) => {
  const name = { imsi: 'IMSI', iccid: 'ICCID', opc: 'OPc', k: 'K' }[field as 'k']
  for (const missing of [null, '']) expect(problemsWith(field, missing)).toEqual([`no ${name}`])
})

test.each<Field>(['kic', 'kid', 'pin', 'puk', 'adm', 'smsp', 'smsc'])('%s may be absent', (field) => {
  expect(problemsWith(field, null)).toEqual([])
})

test('fields that are left out are not checked', () => {
  const none = { smsp: false, smsc: false, crc: false }
  expect(problemsWith('smsp', 'short', none)).toEqual([])
  expect(problemsWith('smsc', 'no digits', none)).toEqual([])
})

describe('newer devices', () => {
  test.each(rows({ pin: ['123'], puk: ['123'], adm: ['1'] }))(
    '%s %j is for older ones, in hex',
    (field, value) => {
      const profile = { ...GOOD, [field]: value }
      expect(problems(profile, ALL)).toEqual([])
      const found = newerProblems(profile, true)
      expect(found).toHaveLength(1)
      expect(found[0]?.toLowerCase()).toContain(field)
      expect(newerProblems(profile, false)).toEqual(field === 'pin' ? found : [])
    },
  )

  test.each([
    ...(['kic', 'kid', 'pin', 'puk', 'adm'] as const).map((field) => [field, null] as const),
    ...rows({ pin: ['1234'], puk: ['1234'], adm: ['a!~Z', '0123456789abcDEF'] }),
  ])('%s %j is for all', (field, value) => {
    expect(newerProblems({ ...GOOD, [field]: value }, true)).toEqual([])
  })
})

test('all problems are reported, not only the first', () => {
  const empty = Object.fromEntries(FIELDS.map((field) => [field, null])) as Profile
  expect(problems(empty, ALL)).toEqual(['no IMSI', 'no ICCID', 'no OPc', 'no K'])
  const wrong = Object.fromEntries(FIELDS.map((field) => [field, '-'])) as Profile
  const said = ['imsi', 'iccid', 'opc', 'k', 'kic', 'kid', 'smsp', 'smsc', 'pin'] as const
  expect(problems({ ...wrong, smsc: '+', puk: '1', adm: '1' }, ALL)).toEqual(
    said.map((each) => SENTENCES[each]),
  )
})

test('what is sealed is named after what is wrong with it', () => {
  const said = (bytes: Buffer) => refusal(() => parsePlaintext(stored, bytes, OPTIONS))
  expect(said(Buffer.from('no'))).toBe('unfit: a device would reject it: no IMSI, no OPc, no K')
  expect(said(plaintext({ pin: 1 }))).toBe('unfit: the decrypted data is not a profile')
  // Which ICCID it is comes before what else is wrong.
  expect(said(plaintext({ iccid: '89880000000000000025', k: 'short' }))).toBe(
    'unfit: the encrypted ICCID is a different one',
  )
})

test('keys for changes over the air may be missing, and are named', () => {
  expect(missingKeys(GOOD)).toEqual([])
  expect(missingKeys({ ...GOOD, kid: null })).toEqual(['KID'])
  expect(missingKeys({ ...GOOD, kic: '' })).toEqual(['KIC'])
  expect(NRF_REJECTS).toBe(
    'nRF firmware rejects such a profile since the end of July 2026; other devices take it',
  )
  expect(missingKeys({ ...GOOD, kic: null, kid: null })).toEqual(['KIC', 'KID'])
})

test('what newer devices would reject is refused', () => {
  expect(() => refuseOutdated([])).not.toThrow()
  expect(refusal(() => refuseOutdated(['one']))).toBe('unfit: newer devices would reject it: one')
  const said = refusal(() => refuseOutdated(newerProblems({ ...GOOD, pin: '123', adm: '1' }, true)))
  expect(said).toBe(
    'unfit: newer devices would reject it: the PIN has fewer than 4 characters, the ADM has fewer than 4 characters',
  )
})
