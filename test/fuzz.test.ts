import fc from 'fast-check'
import './support/after-file.ts'
import { createPublicKey, KeyObject } from 'node:crypto'
import { expect, test } from 'vitest'
import { Failure, UnusableProfile } from '../src/failure.ts'
import { parsePrivateKey } from '../src/key/private-key.ts'
import { parsePlaintext, parseStored } from '../src/profile/check.ts'
import { FORMATS } from '../src/profile/json.ts'
import { acceptable, answer, anyIccid, anyText, hexOptions } from './support/arbitrary.ts'
import { fixedPrivateKey } from './support/keys.ts'
import { iccid } from './support/profiles.ts'

/** Some text with one thing wrong: cut off, one character another, something put in. */
const spoilt = (text: string) =>
  fc
    .tuple(fc.nat(text.length), fc.nat(3), anyText)
    .map(([at, skip, put]) => text.slice(0, at) + put + text.slice(at + (put === '' ? text.length : skip)))

function refusesOnly<T>(action: () => T, allowed: new (...args: never[]) => Error): T | undefined {
  try {
    return action()
  } catch (error) {
    expect(error).toBeInstanceOf(allowed)
    expect((error as Error).message).not.toBe('')
    return undefined
  }
}

test('a profile file is read or refused', () => {
  const whole = JSON.stringify({ iccid: iccid(1), profile: 'AAAA' })
  fc.assert(
    fc.property(anyIccid, fc.oneof(spoilt(whole), answer), (name, text) => {
      const stored = refusesOnly(() => parseStored(text), UnusableProfile)
      refusesOnly(() => parseStored(text, `${name}.json`), UnusableProfile)
      if (stored === undefined) return
      expect(stored.iccid).toMatch(/^\d{18,20}[Ff]?$/)
      expect(Buffer.from(stored.profile, 'base64').toString('base64')).toHaveLength(stored.profile.length)
    }),
    { numRuns: 2000 },
  )
})

test('a decrypted text becomes one line or is refused', () => {
  const plaintext = fc.oneof(
    acceptable.chain((profile) => spoilt(JSON.stringify({ ...profile, iccid: iccid(1) }))),
    acceptable.map((profile) => JSON.stringify({ ...profile, iccid: null })),
    fc
      .record({ imsi: anyText, opc: anyText, k: anyText, pin: anyText, smsc: anyText })
      .map((each) => JSON.stringify(each)),
    fc.json(),
    anyText,
  )
  fc.assert(
    fc.property(plaintext, hexOptions, (text, options) => {
      const stored = { iccid: iccid(1) }
      const profile = refusesOnly(() => parsePlaintext(stored, Buffer.from(text), options), UnusableProfile)
      if (profile === undefined) return
      expect(FORMATS.hex(profile, options)).toMatch(/^[0-9a-f]+$/)
      expect(FORMATS.json(profile, options)).not.toMatch(/[\r\n]/)
      expect(FORMATS.raw(profile)).not.toMatch(/[\r\n]/)
    }),
    { numRuns: 1000 },
  )
})

test('a private key is read, or one line says what the file is instead', () => {
  const key = fixedPrivateKey()
  const privateKey = key.export({ type: 'pkcs1', format: 'pem' }).toString()
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString()
  const der = key.export({ type: 'pkcs8', format: 'der' })
  const bytes = fc.oneof(
    spoilt(privateKey).map((text) => Buffer.from(text)),
    spoilt(publicKey).map((text) => Buffer.from(text)),
    fc
      .tuple(fc.nat(der.length - 1), fc.nat(255))
      .map(([at, byte]) => Buffer.from(der).fill(byte, at, at + 1)),
    fc.nat(der.length).map((length) => der.subarray(0, length)),
    fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)),
  )
  fc.assert(
    fc.property(bytes, fc.option(anyText, { nil: undefined }), (key, passphrase) => {
      const parsed = refusesOnly(() => parsePrivateKey(key, 'softsim.pem', passphrase), Failure)
      if (parsed !== undefined) expect(parsed.object).toBeInstanceOf(KeyObject)
    }),
    { numRuns: 300 },
  )
})
