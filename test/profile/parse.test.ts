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

test('unknown fields in a stored file are nobody’s business', () => {
  expect(parseStored(`${iccid}.json`, stored({ batch: 7, note: null })).iccid).toBe(iccid)
})

test('a filler, in the file or in its name, makes no other profile of it', () => {
  for (const name of [`${iccid}.json`, `${iccid}F.json`, `${iccid}f.json`]) {
    expect(parseStored(name, stored({ iccid: `${iccid}F` })).iccid).toBe(`${iccid}F`)
  }
})

test.each([
  ['nothing', ''],
  ['half of it', stored().slice(0, 40)],
  ['no object', '[]'],
  ['null', 'null'],
  ['a number', '5'],
  ['no profile', JSON.stringify({ iccid })],
  ['no ICCID', JSON.stringify({ profile: 'AAEC' })],
  ['a number for an ICCID', stored({ iccid: 8988 })],
  ['an ICCID of letters', stored({ iccid: '../../etc/passwd' })],
  ['an ICCID that is too long', stored({ iccid: '8'.repeat(21) })],
  ['what is not base64', stored({ profile: '*** no base64 ***' })],
])('a stored file of %s is damaged', (_, text) => {
  expect(refusal(() => parseStored(`${iccid}.json`, text))).toMatch(/^damaged: ./)
})

test('a file under the name of another ICCID is damaged', () => {
  const other = plainProfile(2).iccid
  expect(refusal(() => parseStored(`${other}.json`, stored()))).toMatch(/^damaged: .*name.*/)
})

test('reading any text ends with a profile or a refusal', () => {
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

test('where the plaintext has no ICCID, that of the file counts', () => {
  for (const none of [undefined, null, '']) {
    expect(parsePlaintext(sealed, plaintext({ iccid: none }), OPTIONS).iccid).toBe(iccid)
  }
})

test('a filler in one of the two makes no other ICCID of it', () => {
  for (const [inside, outside] of [
    [`${iccid}F`, iccid],
    [iccid, `${iccid}f`],
  ]) {
    const opened = parsePlaintext({ ...sealed, iccid: outside ?? '' }, plaintext({ iccid: inside }), OPTIONS)
    expect(opened.iccid).toBe(inside)
  }
})

test('where the plaintext has another ICCID, it is not this profile', () => {
  const other = plainProfile(2).iccid
  expect(refusal(() => parsePlaintext(sealed, plaintext({ iccid: other }), OPTIONS))).toMatch(
    /^unfit: .*ICCID/,
  )
})

test.each([
  ['no JSON', Buffer.from('{"iccid":')],
  ['no object', Buffer.from('"text"')],
  ['a number in a field', plaintext({ pin: 1234 })],
  ['an array in a field', plaintext({ k: [] })],
])('a plaintext of %s is unfit', (_, bytes) => {
  expect(refusal(() => parsePlaintext(sealed, bytes, OPTIONS))).toMatch(/^unfit: ./)
})

test('what a device would refuse is unfit; the sentence says why and tells no key', () => {
  const bytes = plaintext({ k: 'DEADBEEF', opc: null })
  const said = refusal(() => parsePlaintext(sealed, bytes, OPTIONS))
  expect(said).toBe('unfit: a device would reject it: no OPc, K is not 32 hex digits')
})
