import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { Failure } from '../../src/failure.ts'
import { PassphraseFailure, parsePrivateKey, RIGHT_KEY, readKey } from '../../src/key/private-key.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { selfSigned } from '../support/keys.ts'
import { makePipe } from '../support/pipe.ts'
import { hasPosix } from '../support/system.ts'

const { privateKey: PEM, privateKeyPath, publicKey: PUBLIC_PEM } = inject('keys')
const key = createPrivateKey(PEM)
const PASSPHRASE = 'correct horse'
const LOCK = { cipher: 'aes-256-cbc', passphrase: PASSPHRASE }
const SILENT = { warn() {}, tell() {} }

const read = (bytes: Buffer | string, passphrase?: string) =>
  parsePrivateKey(Buffer.from(bytes), 'mine.pem', passphrase).object

/** The failure of an action. Every one has the exit code of keys and a hint. */
function failure(action: () => unknown): Failure {
  try {
    action()
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    expect(error.outcome).toBe('key')
    expect(error.hint).not.toBe('')
    return error
  }
  throw new Error('it was read')
}

const refusal = (bytes: Buffer | string, passphrase?: string) => failure(() => read(bytes, passphrase))

/** A new private key file that ssh-keygen made. */
function sshKey(...options: string[]): string {
  const path = join(temporaryDirectory(), 'key')
  execFileSync('ssh-keygen', ['-q', '-f', path, '-N', '', ...options])
  return path
}

/** What a key is written as, without a passphrase and with one. */
const FORMS = (['pkcs1', 'pkcs8'] as const).flatMap((type) =>
  (['pem', 'der'] as const).map((format) => [`${type} ${format}`, { type, format }] as const),
)
const OLDER = ['pkcs8', '-topk8', '-v1', 'PBE-SHA1-3DES', '-outform', 'DER', '-in', privateKeyPath]

/** DER of PKCS#1 can't be protected. */
const PROTECTED: (readonly [string, Buffer | string])[] = [
  ...FORMS.filter(([name]) => name !== 'pkcs1 der').map(
    ([name, form]) => [name, key.export({ ...form, ...LOCK } as never)] as const,
  ),
  ['pkcs8 der, as of older tools', execFileSync('openssl', [...OLDER, '-passout', `pass:${PASSPHRASE}`])],
]

const { cert } = selfSigned(temporaryDirectory())

test.each<[string, Buffer | string]>([
  ['as ssh-keygen -m PEM writes it', PEM],
  ...FORMS.map(([name, form]): [string, Buffer | string] => [name, key.export(form as never)]),
  ['with the line ends of Windows', PEM.replaceAll('\n', '\r\n')],
  ['from a PKCS#12 bundle', `Bag Attributes\n    localKeyID: 01\nKey Attributes: <No Attributes>\n${PEM}`],
  ['after its certificate', `${cert}${PEM}`],
])('a key %s, for which a passphrase is ignored', (_, bytes) => {
  expect(read(bytes).equals(key)).toBe(true)
  expect(read(bytes, PASSPHRASE).equals(key)).toBe(true)
})

test.each(PROTECTED)('a protected key needs its passphrase, and callers can ask for it: %s', (_, bytes) => {
  expect(read(bytes, PASSPHRASE).equals(key)).toBe(true)
  for (const none of [undefined, '']) {
    const missing = refusal(bytes, none)
    expect(missing).toBeInstanceOf(PassphraseFailure)
    expect(missing.hint).toBe('set SOFTSIM_KEY_PASSPHRASE to it')
    expect(missing.message).toBe('mine.pem is protected with a passphrase, but none was given')
  }
  // One in 256 of them seems to decrypt.
  for (let n = 0; n < (Buffer.isBuffer(bytes) ? 1000 : 1); n++) {
    const wrong = refusal(bytes, `wrong ${n}`)
    expect(wrong).toBeInstanceOf(PassphraseFailure)
    expect(wrong.message).toBe('the passphrase does not decrypt mine.pem')
    expect(wrong.hint).toBe('check the passphrase, in SOFTSIM_KEY_PASSPHRASE')
  }
})

/** OpenSSL has moved old ciphers to a provider of their own, which a system may not have. */
const LEGACY = ['-provider', 'legacy', '-provider', 'default']
const hasLegacy = spawnSync('openssl', ['list', '-providers', ...LEGACY]).status === 0

test.skipIf(!hasLegacy)('a cipher that OpenSSL has retired is not taken for a wrong passphrase', () => {
  const old = execFileSync(
    'openssl',
    ['rsa', '-traditional', '-des', '-in', privateKeyPath, '-passout', `pass:${PASSPHRASE}`, ...LEGACY],
    { stdio: 'pipe' },
  )
  const seen = refusal(old, PASSPHRASE)
  expect(seen).not.toBeInstanceOf(PassphraseFailure)
  expect(seen.message).toContain('is not a readable private key')
})

test.each(['key', 'my key'])('an RSA key in the format of OpenSSH, "%s": the hint rewrites it', (name) => {
  const made = sshKey('-t', 'rsa', '-b', '2048')
  const path = join(dirname(made), name)
  renameSync(made, path)
  const { message, hint } = failure(() => readKey(path, undefined, SILENT))
  expect(message).toBe(`${path} is in the format of OpenSSH`)
  const [, command = ''] = /^rewrite it as PEM: (.+)$/.exec(hint) ?? []
  execFileSync('/bin/sh', ['-c', `${command} -q -N ''`], { stdio: 'pipe' })
  expect(readKey(path, undefined, SILENT).object.asymmetricKeyType).toBe('rsa')
})

test('a key of another type: in the format of OpenSSH, in PEM and DER', () => {
  expect(refusal(readFileSync(sshKey('-t', 'ed25519'))).message).toMatch(/is not of type RSA; .*an RSA key$/)
  const { privateKey: ec } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { privateKey: ed } = generateKeyPairSync('ed25519')
  // It signs, and decrypts nothing.
  const { privateKey: pss } = generateKeyPairSync('rsa-pss', { modulusLength: 2048 })
  for (const [bytes, type] of [
    [ec.export({ type: 'sec1', format: 'pem' }), 'ec'],
    [ec.export({ type: 'pkcs8', format: 'der' }), 'ec'],
    [ed.export({ type: 'pkcs8', format: 'pem' }), 'ed25519'],
    [pss.export({ type: 'pkcs8', format: 'pem' }), 'rsa-pss'],
  ] as const)
    expect(refusal(bytes)).toMatchObject({
      message: `mine.pem is a key of type ${type}; decryption needs an RSA key`,
      hint: RIGHT_KEY,
    })
})

/** A request that a certification authority gets. */
function request(): string {
  const options = ['-new', '-key', privateKeyPath, '-subj', '/CN=softsim']
  return execFileSync('openssl', ['req', ...options], { encoding: 'utf8', stdio: 'pipe' })
}

test.each<[is: string, what: string, bytes: Buffer | string]>([
  ['empty', 'an empty file', ''],
  ['cut off: it has no END line', 'half of it', PEM.slice(0, PEM.length / 2)],
  ['cut off: it has no END line', 'all but the last character', PEM.trimEnd().slice(0, -1)],
  [
    'cut off: it has no END line',
    'half of a protected one',
    key.export({ type: 'pkcs8', format: 'pem', ...LOCK }).slice(0, 999),
  ],
  ['a public key', 'SPKI', PUBLIC_PEM],
  ['a public key', 'one line of OpenSSH', readFileSync(`${privateKeyPath}.pub`)],
  ['a public key', 'a file of several', `# of line 1\n${readFileSync(`${privateKeyPath}.pub`)}`],
  ['a public key', 'SSH2', execFileSync('ssh-keygen', ['-e', '-f', `${privateKeyPath}.pub`])],
  ['a public key', 'PKCS#1', execFileSync('ssh-keygen', ['-e', '-m', 'PEM', '-f', `${privateKeyPath}.pub`])],
  ['a certificate', 'PEM', cert],
  ['a certificate', 'PEM of OpenSSL', cert.replaceAll('CERTIFICATE', 'TRUSTED CERTIFICATE')],
  ['a public key', 'one line of OpenSSH, ECDSA', 'ecdsa-sha2-nistp256 AAAAE2VjZHNh me@host\n'],
  [
    'a request for a certificate (CSR)',
    'PEM of older tools',
    '-----BEGIN NEW CERTIFICATE REQUEST-----\nMIIB\n-----END NEW CERTIFICATE REQUEST-----\n',
  ],
  ['a request for a certificate (CSR)', 'PEM', request()],
  ['base64 of a PEM file', 'one line', Buffer.from(PEM).toString('base64')],
  ['base64 of a PEM file', 'lines', Buffer.from(PEM).toString('base64').replace(/.{76}/g, '$&\n')],
])('what it is instead: %s (%s)', (is, _, bytes) => {
  const { message, hint } = refusal(bytes)
  expect(message).toBe(`mine.pem is ${is}`)
  const hints: Record<string, string> = {
    empty: 'copy the key again, or check the command that prints it',
    'cut off: it has no END line': 'copy the key again',
    'base64 of a PEM file': 'decode it first',
  }
  expect(hint).toBe(hints[is] ?? RIGHT_KEY)
})

const EXPORT = ['pkcs12', '-export', '-nocerts', '-inkey', privateKeyPath]
const UTF_16 = Buffer.from(`\ufeff${PEM}`, 'utf16le')
test.each<[string, Buffer | string]>([
  ['words', 'not a key'],
  ['bytes', Buffer.from([0x30, 0x82, 0x01, 0x00, 0xff])],
  ['an empty frame of PEM', '-----BEGIN RSA PRIVATE KEY-----\n-----END RSA PRIVATE KEY-----\n'],
  ['without its line breaks', PEM.replaceAll('\n', ' ')],
  ['UTF-16', UTF_16],
  ['PKCS#12', execFileSync('openssl', [...EXPORT, '-passout', `pass:${PASSPHRASE}`], { stdio: 'pipe' })],
  ['the format of PuTTY', 'PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\n'],
  ['a damaged length', PEM.replace('MII', 'MIJ')],
])('anything else is not readable: %s', (_, bytes) => {
  expect(refusal(bytes).message).toMatch(/^mine.pem is not a readable private key /)
  expect(refusal(bytes, PASSPHRASE).message).toMatch(/^mine.pem is not a readable private key /)
})

test.skipIf(!hasPosix)('a key that arrives through a pipe in parts is read completely', () => {
  const file = join(temporaryDirectory(), 'long.pem')
  // On Linux a pipe keeps each of these parts in a page of its own, and has 16 pages: less than all of it at once.
  writeFileSync(file, `${'Bag Attributes: <No Attributes>\n'.repeat(1500)}${PEM}`)
  const pipe = makePipe()
  spawn('dd', [`if=${file}`, `of=${pipe}`, 'bs=2049'], { stdio: 'ignore' })
  expect(readKey(pipe, undefined, SILENT).object.equals(key)).toBe(true)
})

test('what is in a file is read, and no more than 64 KiB', () => {
  const path = join(temporaryDirectory(), 'long.pem')
  writeFileSync(path, '')
  expect(failure(() => readKey(path, undefined, SILENT)).message).toBe(`${path} is empty`)
  const before = '\n'.repeat(64 * 1024 - PEM.length)
  writeFileSync(path, before + PEM)
  expect(readKey(path, undefined, SILENT).name).toBe(path)
  writeFileSync(path, `${before}${'\n'.repeat(99)}${PEM}`)
  expect(failure(() => readKey(path, undefined, SILENT)).message).toContain('is cut off')
})

describe('a path that leads to no key', () => {
  const said = (path: string) => failure(() => readKey(path, undefined, SILENT)).message

  test('a name and a directory are repeated', () => {
    expect(said('softsim 2026.pem')).toMatch(/^can't read the private key softsim 2026.pem: no such file/)
    const directory = temporaryDirectory()
    expect(said(directory)).toMatch(`can't read the private key ${directory}: it is a directory`)
    for (const name of ['a.PEM', 'b.key', 'c.der', 'd.txt', `${'e'.repeat(200)}.pem`])
      expect(said(name)).toContain(`can't read the private key ${name}: no such file`)
    for (const text of [`${'e'.repeat(201)}.pem`, 'a\nb.pem', 'a.pem2'])
      expect(said(text)).toMatch(/^can't read the private key: /)
  })

  const LINES = [...PEM.split('\n').filter((line) => line !== ''), 'S3cr3t-K3y-0123456789', 'eyJh.eyJz.c2ln']
  test('what may be an API key, or a key itself or a line of it, is not', () => {
    for (const secret of [PEM, ...LINES]) {
      const { message, hint } = failure(() => readKey(secret, undefined, SILENT))
      expect(message).toMatch(/^can't read the private key: /)
      expect(`${message} ${hint}`).not.toContain(secret.slice(0, 12))
    }
  })
})
