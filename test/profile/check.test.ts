import { describe, expect, test } from 'vitest'
import { newerProblems, problems } from '../../src/profile/check.ts'
import { FIELDS, type Field, type Profile } from '../../src/profile/profile.ts'
import { plainProfile } from '../support/profiles.ts'

const ALL = { smsp: true, smsc: true, crc: false }
const GOOD: Profile = plainProfile(1)

const problemsWith = (field: Field, value: string | null, options = ALL) =>
  problems({ ...GOOD, [field]: value }, options)

test('a complete profile has no problems', () => expect(problems(GOOD, ALL)).toEqual([]))

test.each<[Field, string]>([
  ['imsi', '1'.repeat(6)],
  ['imsi', '1'.repeat(15)],
  ['iccid', '8'.repeat(19)],
  ['iccid', '8'.repeat(20)],
  ['iccid', `${'8'.repeat(19)}F`],
  ['k', 'abcdefABCDEF01234567890123456789'],
  ['pin', '1234'],
  ['pin', '12345678'],
  ['puk', '1'],
  ['puk', '12345678'],
  ['adm', 'a!~Z0+/='],
  ['adm', '0123456789abcDEF'],
  ['smsp', 'F'.repeat(104)],
  ['smsc', '1'],
  ['smsc', `+${'1'.repeat(20)}`],
])('%s %s is accepted', (field, value) => expect(problemsWith(field, value)).toEqual([]))

test.each<[Field, string]>([
  ['imsi', '1'.repeat(5)],
  ['imsi', '1'.repeat(16)],
  ['imsi', '00101012345606x'],
  ['imsi', ' 001010123456063'],
  ['imsi', '001010123456063\n'],
  ['iccid', '8'.repeat(18)],
  ['iccid', '8'.repeat(21)],
  ['iccid', `${'8'.repeat(18)}FF`],
  ['opc', '0'.repeat(31)],
  ['k', '0'.repeat(33)],
  ['k', `${'0'.repeat(31)}g`],
  ['k', `${'0'.repeat(32)}\n`],
  ['kic', '0'.repeat(30)],
  ['kid', '0'.repeat(34)],
  ['pin', '123456789'],
  ['pin', '12ab'],
  ['puk', '123456789'],
  ['puk', 'naïve'],
  ['adm', '123456789'],
  ['adm', 'a b'],
  ['adm', '0'.repeat(15)],
  ['adm', '0'.repeat(17)],
  ['adm', `${'0'.repeat(15)}g`],
  ['adm', `${'0'.repeat(16)}\n`],
  ['smsp', 'F'.repeat(102)],
  ['smsp', 'F'.repeat(106)],
  ['smsc', '+'],
  ['smsc', '1'.repeat(21)],
])('%s %j is refused in one sentence that does not show the value', (field, value) => {
  const found = problemsWith(field, value)
  expect(found).toHaveLength(1)
  expect(found[0]?.toLowerCase()).toContain(field)
  expect(found[0]).not.toContain(value)
})

test.each<Field>(['imsi', 'iccid', 'opc', 'k'])('%s is required', (field) => {
  for (const missing of [null, '']) expect(problemsWith(field, missing)).toHaveLength(1)
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
  test.each<[Field, string | null]>([
    ['kic', null],
    ['kid', null],
    ['pin', '123'],
    ['puk', '123'],
    ['adm', '1'],
  ])('%s %j is for older devices only, in hex', (field, value) => {
    const profile = { ...GOOD, [field]: value }
    expect(problems(profile, ALL)).toEqual([])
    const found = newerProblems(profile, true)
    expect(found).toHaveLength(1)
    expect(found[0]?.toLowerCase()).toContain(field)
    expect(newerProblems(profile, false)).toEqual(field === 'pin' ? found : [])
  })

  test.each<[Field, string | null]>([
    ['pin', null],
    ['pin', '1234'],
    ['puk', null],
    ['puk', '1234'],
    ['adm', null],
    ['adm', 'a!~Z'],
    ['adm', '0123456789abcDEF'],
  ])('%s %j is for all', (field, value) => {
    expect(newerProblems({ ...GOOD, [field]: value }, true)).toEqual([])
  })

  test('every reason is given', () => {
    expect(newerProblems({ ...GOOD, kic: null, kid: null, pin: '1', puk: '2', adm: '3' }, true)).toHaveLength(
      5,
    )
  })
})

test('all problems are reported, not only the first', () => {
  const empty = Object.fromEntries(FIELDS.map((field) => [field, null])) as Profile
  expect(problems(empty, ALL)).toHaveLength(4)
})
