import { expect, test } from 'vitest'
import { UnusableProfile } from '../../src/failure.ts'
import { iccidDigits, isBase64, parseStored, storedProfile } from '../../src/profile/check.ts'
import { iccid as nth } from '../support/profiles.ts'

const iccid = nth(1)
const text = (changes: object = {}) => JSON.stringify({ iccid, profile: 'AAEC/w==', ...changes })

/** Why something is refused. */
function refusal(action: () => unknown): string {
  try {
    action()
  } catch (error) {
    if (!(error instanceof UnusableProfile)) throw error
    return `${error.fault}: ${error.message}`
  }
  throw new Error('it was accepted')
}

test('an entry of an answer and the file that it becomes are the same', () => {
  const expected = { iccid, profile: 'AAEC/w==' }
  expect(storedProfile({ ...expected, other: 1 })).toEqual(expected)
  expect(parseStored(text({ station: 'line-1' }))).toEqual(expected)
  expect(parseStored(text(), `${iccid}.json`)).toEqual(expected)
})

test('a filler in the text or in the name does not change the profile', () => {
  for (const name of [`${iccid}.json`, `${iccid}F.json`, `${iccid}f.json`])
    expect(parseStored(text({ iccid: `${iccid}F` }), name).iccid).toBe(`${iccid}F`)
})

test.each([
  ['empty', ''],
  ['truncated', text().slice(0, 40)],
  ['a list', '[]'],
  ['null', 'null'],
  ['a number', '5'],
  ['without a profile', JSON.stringify({ iccid })],
  ['without an ICCID', JSON.stringify({ profile: 'AAEC' })],
  ['a number for an ICCID', text({ iccid: 8988 })],
  ['a path for an ICCID', text({ iccid: '../../etc/passwd' })],
  ['an empty profile', text({ profile: '' })],
  ['no base64', text({ profile: '*** no base64 ***' })],
])('damaged: %s', (_, damaged) => {
  expect(refusal(() => parseStored(damaged))).toMatch(/^damaged: ./)
})

test('what is damaged is said, and what comes first', () => {
  const said = (changes: object) => refusal(() => parseStored(text(changes), 'copy.json'))
  expect(said({ profile: 1 })).toBe('damaged: it does not contain an ICCID and an encrypted profile')
  expect(said({ iccid: '8988', profile: '*' })).toBe('damaged: the ICCID in it is not 18 to 20 digits')
  expect(said({ profile: '*' })).toBe('damaged: the encrypted profile in it is not base64')
  expect(said({})).toBe(`damaged: its name does not match the ICCID in it, ${iccid}`)
  expect(said({ iccid: `${nth(1, 19)}F` })).toBe(
    `damaged: its name does not match the ICCID in it, ${nth(1, 19)}`,
  )
})

test('a file under the name of another profile is damaged', () => {
  expect(refusal(() => parseStored(text(), `${nth(2)}.json`))).toContain(iccid)
  for (const name of ['copy.json', `${iccid}.JSON`, `${iccid}`.slice(0, 19), `__${iccid}.json`])
    expect(refusal(() => parseStored(text(), name))).toContain(iccid)
})

test.each(['AAAA', 'AAA=', 'AA==', 'az09+/AA', 'AAAAAA=='])('%s is base64', (base64) =>
  expect(isBase64(base64)).toBe(true),
)

const NOT_BASE64 = [
  '',
  'A',
  'AA',
  'AAA',
  'AAAAA',
  'A===',
  '====',
  'AA=A',
  'AAAA====',
  'AAA-',
  'AA A',
  'AAAA\n',
]
test.each(NOT_BASE64)('%j is not', (other) => expect(isBase64(other)).toBe(false))

test.each([
  ['8'.repeat(18), '8'.repeat(18)],
  ['8'.repeat(20), '8'.repeat(20)],
  [`${'8'.repeat(19)}F`, '8'.repeat(19)],
  [`${'8'.repeat(19)}f`, '8'.repeat(19)],
  ['8'.repeat(17), undefined],
  ['8'.repeat(21), undefined],
  [`${'8'.repeat(18)}FF`, undefined],
  [`${'8'.repeat(19)}\n`, undefined],
  ['\u0661'.repeat(19), undefined],
])('the digits of the ICCID %j', (given, digits) => expect(iccidDigits(given)).toBe(digits))
