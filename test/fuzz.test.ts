import { createPublicKey, KeyObject } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, inject, test } from 'vitest'
import { Failure, UnusableProfile } from '../src/failure.ts'
import { parsePrivateKey } from '../src/key/private-key.ts'
import { encodeHex } from '../src/profile/hex.ts'
import { iccidDigits } from '../src/profile/iccid.ts'
import { encodeJson, encodeRaw } from '../src/profile/json.ts'
import { parsePlaintext, parseStored } from '../src/profile/parse.ts'
import { parseProfileList } from '../src/service/response.ts'
import { parseAnswerFile } from '../src/store/incoming/answers.ts'
import { unusedOf } from '../src/store/names.ts'
import { acceptable, hexOptions } from './support/arbitrary.ts'
import {
  addProfile,
  directoryOf,
  namesIn,
  someProfiles,
  temporaryDirectory,
  usedIn,
} from './support/directory.ts'
import { fixedPrivateKey } from './support/keys.ts'
import { iccid, plainProfile, storedFile } from './support/profiles.ts'
import { lines } from './support/promises.ts'
import { startSandbox } from './support/sandbox.ts'
import { softsim } from './support/softsim.ts'
import { hasSymlinks, isWindows } from './support/system.ts'

/** Real processes are slow: this many of each kind. */
const PROCESSES = { numRuns: 20 }

const anyText = fc.string({ unit: 'binary', maxLength: 60 })
const anyIccid = fc.oneof(
  fc.constantFrom(
    iccid(1),
    `${iccid(2, 19)}F`,
    '',
    '1',
    '../x',
    '/etc/passwd',
    '__1',
    `${iccid(3)}\n`,
    '\u0661',
  ),
  anyText,
)
const entry = fc.oneof(
  fc.record({ iccid: anyIccid, profile: fc.oneof(fc.base64String(), anyText) }, { requiredKeys: [] }),
  fc.jsonValue(),
)
const answer = fc.oneof(
  fc
    .record({ count: fc.integer(), profiles: fc.array(entry, { maxLength: 6 }) })
    .map((each) => JSON.stringify(each)),
  fc.json(),
  anyText,
)

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

test('names in a directory: every unused name is an ICCID', () => {
  const name = fc.oneof(
    anyText.map((text) => `${text}.json`),
    anyIccid.map((text) => `__${text}.json`),
    anyIccid.map((text) => `${text}.json`),
    anyText,
  )
  fc.assert(
    fc.property(fc.array(name, { maxLength: 8 }), (names) => {
      for (const each of unusedOf(names).iccids) expect(iccidDigits(each)).toBeDefined()
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

/** Without NUL, which no command line can hold; no API key that could be one, for nothing here may leave this machine. */
const OPTIONS =
  '-n -n5 -n=2 --count -i -o -k -u --format --format=json --iccid --crc --no-crc --smsp -v -vv -V -h --help=1 -h=1 -- - --no-such -a'
const word = fc.oneof(
  fc.constantFrom('fetch', 'next', 'help', '-a=x y', ...OPTIONS.split(' ')),
  fc.constantFrom('0', '-1', '1e3', '99999999999999999999', '.', '/', '/dev/null', 'nowhere', iccid(1)),
  anyText.map((text) => text.replaceAll('\0', '')),
)

test('any command line: a documented exit code, and no output unless it is 0', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(word, { maxLength: 7 }), async (words) => {
      // A word after -a could be a key.
      const args = words.flatMap((each) => (each === '-a' ? ['-a', 'no key'] : [each]))
      const { code } = await softsim(args, {
        cwd: temporaryDirectory(),
        env: { HTTPS_PROXY: 'http://127.0.0.1:9', HTTP_PROXY: 'http://127.0.0.1:9' },
      })
      // It is in the table for what nobody foresaw.
      expect(code).not.toBe(1)
    }),
    { numRuns: 40 },
  )
})

/** Something in a profile directory that nobody should have put there. */
interface Litter {
  name: string
  is: 'file' | 'directory' | 'link'
  text: string
}

const litter: fc.Arbitrary<Litter> = fc.record({
  name: fc.oneof(
    fc.constantFrom(
      '.unused',
      '.incoming',
      'profiles.json',
      '.json',
      '__.json',
      `${iccid(1)}.JSON`,
      `__${iccid(90)}.json`,
    ),
    fc.nat(40).map((number) => `${iccid(number)}.json`),
    fc.stringMatching(/^[^/\0]{1,20}$/).map((text) => `${text}.json`),
  ),
  is: fc.constantFrom(
    'file' as const,
    'file' as const,
    'file' as const,
    'directory' as const,
    'link' as const,
  ),
  text: fc.oneof(
    answer,
    fc.nat(40).map((number) => JSON.stringify({ iccid: iccid(number), profile: 'AAAA' })),
  ),
})

/** What has made the next test fail at some time. */
const FOUND: [Litter[], number][] = [[[{ name: '__ .json', is: 'file', text: '' }], 1]]

test.skipIf(isWindows || !hasSymlinks)(
  'any directory: a profile is printed and marked used, or neither',
  async () => {
    const { privateKeyPath } = inject('keys')
    await fc.assert(
      fc.asyncProperty(
        fc.array(litter, { maxLength: 25 }),
        fc.integer({ min: 1, max: 3 }),
        async (all, count) => {
          const directory = directoryOf(someProfiles(3))
          for (const each of all) drop(directory, each)
          const before = usedIn(directory)
          const { code, stdout } = await softsim([
            'next',
            '-k',
            privateKeyPath,
            '-i',
            directory,
            '-n',
            String(count),
          ])
          const taken = usedIn(directory).filter((name) => !before.includes(name))
          expect(code).not.toBe(1)
          expect(lines(stdout)).toHaveLength(code === 0 ? count : 0)
          expect(taken).toHaveLength(code === 0 ? count : 0)
        },
      ),
      { ...PROCESSES, examples: FOUND },
    )
  },
)

function drop(directory: string, { name, is, text }: Litter): void {
  const path = join(directory, name)
  try {
    if (is === 'directory') mkdirSync(path)
    else if (is === 'link') symlinkSync(text.replaceAll('\0', '').slice(0, 40) || 'nowhere', path)
    else writeFileSync(path, text, { flag: 'wx' })
  } catch {
    // There is something of that name, or there can be none.
  }
}

test('any response: fetch ends with a documented exit code and stores only files with profile names', async () => {
  const { fault, fetch, directory } = await startSandbox()
  await fc.assert(
    fc.asyncProperty(
      answer,
      fc.constantFrom('application/json', 'text/html', ''),
      async (body, contentType) => {
        fault({ kind: 'garbage', body, contentType })
        const { code } = await fetch(['-n', '3'])
        expect([0, 3, 7, 8]).toContain(code)
      },
    ),
    PROCESSES,
  )
  // What could not be read is put aside, for a person to look at.
  for (const name of readdirSync(join(directory, '.incoming'))) expect(name).toMatch(/\.damaged$/)
  for (const name of namesIn(directory)) {
    expect(name).toMatch(/^\d{1,20}[Ff]?\.json$/)
    expect(lstatSync(join(directory, name)).isFile()).toBe(true)
  }
})

test('a profile file with one changed byte is skipped, or gives the same profile', async () => {
  const { privateKeyPath, publicKey } = inject('keys')
  const whole = Buffer.from(storedFile(plainProfile(1), publicKey))
  const { stdout: right } = await softsim([
    'next',
    '-k',
    privateKeyPath,
    '-i',
    directoryOf([plainProfile(1)]),
  ])
  await fc.assert(
    fc.asyncProperty(fc.nat(whole.length - 1), fc.nat(255), async (at, byte) => {
      const directory = directoryOf([])
      writeFileSync(join(directory, `${iccid(1)}.json`), Buffer.from(whole).fill(byte, at, at + 1))
      addProfile(directory, plainProfile(2))
      const { code, stdout } = await softsim(['next', '-k', privateKeyPath, '-i', directory])
      expect(code).toBe(0)
      if (usedIn(directory).includes(`__${iccid(1)}.json`)) expect(stdout).toBe(right)
    }),
    PROCESSES,
  )
})
