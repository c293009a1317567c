import fc from 'fast-check'
import { expect, test } from 'vitest'
import { UnusableProfile } from '../../src/failure.ts'
import { parsePlaintext, parseStored } from '../../src/profile/parse.ts'
import { plainProfile } from '../support/profiles.ts'

const OPTIONS = { smsp: false, smsc: true, crc: false }
const PLAIN = plainProfile(1)
const { iccid } = PLAIN
const sealed = { iccid, ciphertext: Buffer.alloc(0) }

const stored = (changes: object = {}) => JSON.stringify({ iccid, profile: 'AAEC/w==', ...changes })
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

test('a stored file gives its ICCID and its ciphertext', () => {
  expect(parseStored(`${iccid}.json`, stored())).toEqual({ iccid, ciphertext: Buffer.from([0, 1, 2, 255]) })
})

test('unknown fields in a stored file are ignored', () => {
  expect(parseStored(`${iccid}.json`, stored({ batch: 7, note: null })).iccid).toBe(iccid)
})

test('a filler in the file or in its name does not change the profile', () => {
  for (const name of [`${iccid}.json`, `${iccid}F.json`, `${iccid}f.json`]) {
    expect(parseStored(name, stored({ iccid: `${iccid}F` })).iccid).toBe(`${iccid}F`)
  }
})

test.each([
  ['empty', ''],
  ['truncated', stored().slice(0, 40)],
  ['not an object', '[]'],
  ['null', 'null'],
  ['a number', '5'],
  ['without a profile', JSON.stringify({ iccid })],
  ['without an ICCID', JSON.stringify({ profile: 'AAEC' })],
  ['a number for an ICCID', stored({ iccid: 8988 })],
  ['an ICCID of letters', stored({ iccid: '../../etc/passwd' })],
  ['an ICCID that is too long', stored({ iccid: '8'.repeat(21) })],
  ['not base64', stored({ profile: '*** no base64 ***' })],
])('a stored file is damaged: %s', (_, text) => {
  expect(refusal(() => parseStored(`${iccid}.json`, text))).toMatch(/^damaged: ./)
})

test('a file with the name of another ICCID is damaged', () => {
  const other = plainProfile(2).iccid
  expect(refusal(() => parseStored(`${other}.json`, stored()))).toMatch(/^damaged: .*name.*/)
})

test('any text is read as a profile or refused', () => {
  const text = fc.oneof(
    fc.string(),
    fc.json(),
    fc.nat(60).map((end) => stored().slice(0, end)),
  )
  fc.assert(
    fc.property(text, (each) => {
      try {
        parseStored(`${iccid}.json`, each)
      } catch (error) {
        expect(error).toBeInstanceOf(UnusableProfile)
      }
    }),
  )
})

test('a plaintext gives all eleven fields', () => {
  expect(parsePlaintext(sealed, plaintext(), OPTIONS)).toEqual(PLAIN)
})

test('a field that is absent, null or empty is null', () => {
  const { pin: _, ...rest } = PLAIN
  const bytes = Buffer.from(JSON.stringify({ ...rest, puk: null, adm: '', unknown: [1] }))
  expect(parsePlaintext(sealed, bytes, OPTIONS)).toEqual({ ...PLAIN, pin: null, puk: null, adm: null })
})

test('if the plaintext has no ICCID, the one in the file is used', () => {
  for (const none of [undefined, null, '']) {
    expect(parsePlaintext(sealed, plaintext({ iccid: none }), OPTIONS).iccid).toBe(iccid)
  }
})

test('a filler in one of the two does not make the ICCIDs differ', () => {
  for (const [inside, outside] of [
    [`${iccid}F`, iccid],
    [iccid, `${iccid}f`],
  ]) {
    const opened = parsePlaintext({ ...sealed, iccid: outside ?? '' }, plaintext({ iccid: inside }), OPTIONS)
    expect(opened.iccid).toBe(inside)
  }
})

test('a plaintext with another ICCID is refused', () => {
  const other = plainProfile(2).iccid
  expect(refusal(() => parsePlaintext(sealed, plaintext({ iccid: other }), OPTIONS))).toMatch(
    /^unfit: .*ICCID/,
  )
})

test.each([
  ['not JSON', Buffer.from('{"iccid":')],
  ['not an object', Buffer.from('"text"')],
  ['a number in a field', plaintext({ pin: 1234 })],
  ['an array in a field', plaintext({ k: [] })],
])('a plaintext is unfit: %s', (_, bytes) => {
  expect(refusal(() => parsePlaintext(sealed, bytes, OPTIONS))).toMatch(/^unfit: ./)
})

test('a profile that a device would refuse is unfit; the message says why and shows no key', () => {
  const bytes = plaintext({ k: 'DEADBEEF', opc: null })
  const said = refusal(() => parsePlaintext(sealed, bytes, OPTIONS))
  expect(said).toBe('unfit: a device would reject it: no OPc, K is not 32 hex digits')
})
