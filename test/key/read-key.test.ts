import { spawn } from 'node:child_process'
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test, vi } from 'vitest'
import { type Advice, adviceOn } from '../../src/advice/advice.ts'
import { Failure } from '../../src/failure.ts'
import { readKey } from '../../src/key/private-key.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { makePipe } from '../support/pipe.ts'
import { hasPosix, modesCount } from '../support/system.ts'
import { fail } from '../support/watched-fs.ts'

vi.mock('node:fs', async () => (await import('../support/watched-fs.ts')).watchedFs)

const SILENT = { warn() {}, tell() {} }

/** What is said of a path of a key. */
function refusal(path: string, platform?: NodeJS.Platform): Advice {
  try {
    readKey(path, undefined, SILENT)
  } catch (error) {
    if (error instanceof Failure) return adviceOn(error, platform)
    throw error
  }
  throw new Error('it was read')
}

test('the key itself instead of its file: the hint fits the system', () => {
  const hintOf = (platform: NodeJS.Platform) => {
    const { outcome, hint } = refusal('-----BEGIN RSA PRIVATE KEY-----', platform)
    return `${outcome}: ${hint}`
  }
  expect(hintOf('linux')).toBe(
    'usage: save the key to a file, or send it to standard input: printenv KEY | softsim next -k -',
  )
  expect(hintOf('win32')).toBe(
    'usage: save the key to a file, or send it to standard input: in PowerShell $env:KEY | softsim next -k -',
  )
})

test.each([1024, 2048])('the DER of a key of %d bits in base64 is not repeated', (modulusLength) => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength })
  for (const type of ['pkcs1', 'pkcs8'] as const) {
    for (const encoding of ['base64', 'base64url'] as const) {
      const key = privateKey.export({ type, format: 'der' }).toString(encoding)
      // Also with spaces in place of line breaks, and without its first line.
      for (const given of [key, key.replace(/.{64}/g, '$& '), key.slice(64)]) {
        const { outcome, message } = refusal(given)
        expect(outcome).toBe('usage')
        expect(message).not.toContain(key.slice(80, 120))
      }
    }
  }
})

test.skipIf(!hasPosix)('a key that arrives through a pipe in parts is read completely', () => {
  const { privateKey } = inject('keys')
  const file = join(temporaryDirectory(), 'long.pem')
  // On Linux a pipe keeps each of these parts in a page of its own, and has 16 pages: less than all of it at once.
  writeFileSync(file, `${'Bag Attributes: <No Attributes>\n'.repeat(1500)}${privateKey}`)
  const pipe = makePipe()
  spawn('dd', [`if=${file}`, `of=${pipe}`, 'bs=2049'], { stdio: 'ignore' })
  expect(readKey(pipe, undefined, SILENT).object.equals(createPrivateKey(privateKey))).toBe(true)
})

const TOKENS = `S3cr3t-K3y-0123456789 abCDefGHijKL ./c0ffee00c0ffee00 sk_live_51HqJx2eZvKYlo LXA==
c0ffee00c0ffee00c0ffee00c0ffee00 3e5d7b16-8f2a-4a51-9c5d-0a1b2c3d4e5f abCDefGHijKL== abcdefghijklmnopqrstuvwx
eyJhbGciOiJI.eyJzdWIi.c2lnbmF0dXJl ab/cd+ef01/gh== /ab9cdefghijkl onok.a1b2c3d4e5f6.abcd c2lnbmF0dXJl.c2ln.p9`

const SECRETS = [...TOKENS.split(/\s/), '-----END RSA PRIVATE KEY-----']
test.each(SECRETS)('what looks like an API key and is no file is not repeated: %s', (token) => {
  const { outcome, message, hint } = refusal(token)
  expect([outcome, `${message} ${hint}`.includes(token.slice(0, 12))]).toEqual(['key', false])
  expect(message).toContain("can't read the private key")
})

test.each([
  ...['softsim.pem', 'softsim-2026-line-4.pem', 'keys/line4/softsim.key', 'id_rsa', 'production_line'],
  ...['abCDefGHijK', 'test/c0ffee00c0ffee00'],
])('a name of a file that is not there is repeated: %s', (name) =>
  expect(refusal(name).message).toContain(`can't read the private key ${name}: no such file`),
)

test.each([
  ['softsim.pem ', 'check -k: the name ends in a space'],
  ['softsim.pem\r', 'check -k: the name ends in a carriage return: the script has Windows line ends'],
])('an end that nobody sees is named: %j', (path, hint) => expect(refusal(path).hint).toBe(hint))

test('a line of a key given as the path is not repeated, but a path that looks like one is', () => {
  const { privateKey } = inject('keys')
  for (const line of privateKey.split('\n').filter((each) => each.length === 64)) {
    expect(refusal(line)).toMatchObject({ outcome: 'usage', message: expect.not.stringContaining(line) })
  }
  const path = join(temporaryDirectory(), 'Line2KeyOfTheProductionInHall4ForNext2026')
  expect(refusal(path).message).toContain(`can't read the private key ${path}`)
  writeFileSync(path, privateKey)
  expect(readKey(path, undefined, SILENT).object.type).toBe('private')
})

test('no more than 64 KiB of a file are read', () => {
  const { privateKey } = inject('keys')
  const path = join(temporaryDirectory(), 'long.pem')
  const before = '\n'.repeat(64 * 1024 - privateKey.length)
  writeFileSync(path, before + privateKey)
  expect(readKey(path, undefined, SILENT).object.type).toBe('private')
  writeFileSync(path, `${before}${'\n'.repeat(99)}${privateKey}`)
  expect(refusal(path).message).toContain('is cut off')
})

test('a file that may not be read: the hint says who must permit it', () => {
  const path = join(temporaryDirectory(), 'softsim.pem')
  writeFileSync(path, '')
  fail(/^open/, '', 'EACCES')
  expect(refusal(path).hint).toBe('give this user permission to read the file')
  fail(/^open/, '', 'EIO')
  expect(refusal(path).hint).toBe('check -k: its value is the file of the private key')
})

test.skipIf(!modesCount)('a key that every user can change is read with a warning', () => {
  const path = join(temporaryDirectory(), 'key')
  writeFileSync(path, inject('keys').privateKey)
  const said: unknown[] = []
  const messages = { ...SILENT, warn: (...words: unknown[]) => said.push(words) }
  for (const mode of [0o600, 0o660, 0o644, 0o666]) {
    chmodSync(path, mode)
    expect(readKey(path, undefined, messages).inFile).toBe(1)
  }
  expect(said).toEqual([[`every user of this machine can change ${path}`, 'open-key', path]])
})
