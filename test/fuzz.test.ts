import fc from 'fast-check'
import './support/after-file.ts'
import { createPublicKey, KeyObject } from 'node:crypto'
import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Failure, UnusableProfile } from '../src/failure.ts'
import { parsePrivateKey } from '../src/key/private-key.ts'
import { encodeHex, encodeJson, encodeRaw } from '../src/profile/formats.ts'
import { iccidDigits } from '../src/profile/iccid.ts'
import { parsePlaintext, parseStored } from '../src/profile/validate.ts'
import { parseProfileList } from '../src/service/response.ts'
import { parseAnswerFile } from '../src/store/incoming/answers.ts'
import { acceptable, answer, anyIccid, anyText, hexOptions } from './support/arbitrary.ts'
import { namesIn } from './support/directory.ts'
import { fetchHere } from './support/here.ts'
import { fixedPrivateKey } from './support/keys.ts'
import { iccid } from './support/profiles.ts'
import { API_KEY, startSandbox } from './support/sandbox.ts'

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

test('a response of the service: only an ICCID with base64 is accepted', () => {
  fc.assert(
    fc.property(answer, (body) => {
      const parsed = parseProfileList(body)
      for (const { iccid, profile } of parsed?.profiles ?? []) {
        expect(iccid).toMatch(/^\d{1,20}[Ff]?$/)
        expect(profile).toMatch(/^[A-Za-z0-9+/]+=*$/)
      }
      if (parsed === undefined) return
      expect(parsed.profiles.length + parsed.refused.length).toBe(JSON.parse(body).profiles.length)
    }),
    { numRuns: 2000 },
  )
})

test('a saved response: only complete lines with an ICCID are read', () => {
  const whole = `${JSON.stringify({ iccid: iccid(1), profile: 'AAAA' })}\n`
  fc.assert(
    fc.property(fc.oneof(spoilt(whole.repeat(3)), anyText, answer), (text) => {
      for (const { iccid } of parseAnswerFile(text).profiles) expect(iccidDigits(iccid)).toBeDefined()
    }),
    { numRuns: 2000 },
  )
})

test('a profile file is read or refused', () => {
  const whole = JSON.stringify({ iccid: iccid(1), profile: 'AAAA' })
  fc.assert(
    fc.property(anyIccid, fc.oneof(spoilt(whole), answer), (name, text) => {
      refusesOnly(() => parseStored(`${name}.json`, text), UnusableProfile)
    }),
    { numRuns: 2000 },
  )
})

test('a decrypted text becomes one line or is refused', () => {
  const sealed = { iccid: iccid(1), ciphertext: Buffer.alloc(0) }
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
      const profile = refusesOnly(() => parsePlaintext(sealed, Buffer.from(text), options), UnusableProfile)
      if (profile === undefined) return
      expect(encodeHex(profile, options)).toMatch(/^[0-9a-f]+$/)
      expect(encodeJson(profile, options)).not.toMatch(/[\r\n]/)
      expect(encodeRaw(profile)).not.toMatch(/[\r\n]/)
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

test('any response: fetch ends with a documented exit code and stores only files with profile names', async () => {
  const { fault, url, directory } = await startSandbox()
  await fc.assert(
    fc.asyncProperty(
      answer,
      fc.constantFrom('application/json', 'text/html', ''),
      async (body, contentType) => {
        fault({ kind: 'garbage', body, contentType })
        const { code } = await fetchHere({ url, apiKey: API_KEY, directory, count: 3 })
        expect([0, 3, 7, 8]).toContain(code)
      },
    ),
    { numRuns: 20 },
  )
  // What could not be read is put aside, for a person to look at.
  for (const name of readdirSync(join(directory, '.incoming'))) expect(name).toMatch(/\.damaged$/)
  for (const name of namesIn(directory)) {
    expect(name).toMatch(/^\d{1,20}[Ff]?\.json$/)
    expect(lstatSync(join(directory, name)).isFile()).toBe(true)
  }
})
