import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test, vi } from 'vitest'
import { type Advice, adviceOn } from '../../src/advice/advice.ts'
import { Failure } from '../../src/failure.ts'
import { parsePrivateKey, readKey } from '../../src/key/private-key.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { selfSigned } from '../support/keys.ts'
import { makePipe } from '../support/pipe.ts'
import { hasPosix, modesCount } from '../support/system.ts'
import { fail } from '../support/watched-fs.ts'

vi.mock('node:fs', async () => (await import('../support/watched-fs.ts')).watchedFs)

const { privateKey: PEM, privateKeyPath, publicKey: PUBLIC_PEM } = inject('keys')
const key = createPrivateKey(PEM)
const PASSPHRASE = 'correct horse'
const MINE = 'keys/mine.pem'
const LOCK = { cipher: 'aes-256-cbc', passphrase: PASSPHRASE }

const read = (bytes: Buffer | string, passphrase?: string) =>
  parsePrivateKey(Buffer.from(bytes), MINE, passphrase).object

/** The failure that reading these bytes ends with; what it says. */
function refusal(bytes: Buffer | string, passphrase?: string, path = MINE, platform?: NodeJS.Platform) {
  try {
    parsePrivateKey(Buffer.from(bytes), path, passphrase)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const { outcome, message, hint } = adviceOn(error, platform)
    expect(outcome).toBe('key')
    expect(message).toContain(path)
    return `${message}\n${hint}`
  }
  throw new Error('it was read')
}

/** A new private key file that ssh-keygen made. */
function sshKey(...options: string[]): string {
  const path = join(temporaryDirectory(), 'key')
  execFileSync('ssh-keygen', ['-q', '-f', path, ...options])
  return path
}

const opened = (read: KeyObject) => expect(read.equals(key)).toBe(true)

/** What a key is written as, without a passphrase and with one. */
const FORMS = (['pkcs1', 'pkcs8'] as const).flatMap((type) =>
  (['pem', 'der'] as const).map((format) => [`${type} ${format}`, { type, format }] as const),
)
const OLDER = ['pkcs8', '-topk8', '-v1', 'PBE-SHA1-3DES', '-outform', 'DER', '-in', privateKeyPath]

/** DER of PKCS#1 can't be locked. */
const LOCKED: (readonly [string, Buffer | string])[] = [
  ...FORMS.filter(([name]) => name !== 'pkcs1 der').map(
    ([name, form]) => [name, key.export({ ...form, ...LOCK } as never)] as const,
  ),
  ['pkcs8 der, as of older tools', execFileSync('openssl', [...OLDER, '-passout', `pass:${PASSPHRASE}`])],
]

test.each<[string, Buffer | string]>([
  ['as ssh-keygen -m PEM writes it', PEM],
  ...FORMS.map(([name, form]): [string, Buffer | string] => [name, key.export(form as never)]),
  ['from Windows', PEM.replaceAll('\n', '\r\n')],
  ['from a PKCS#12 bundle', `Bag Attributes\n    localKeyID: 01\nKey Attributes: <No Attributes>\n${PEM}`],
])('a key %s, for which a passphrase is ignored', (_, bytes) => {
  opened(read(bytes))
  opened(read(bytes, PASSPHRASE))
})

test.each(LOCKED)('a protected key needs its passphrase: %s', (_, bytes) => {
  opened(read(bytes, PASSPHRASE))
  for (const none of [undefined, ''])
    expect(refusal(bytes, none)).toMatch(/passphrase, but none was given\n.*SOFTSIM_KEY_PASSPHRASE/)
  // One in 256 of them seems to decrypt.
  for (let n = 0; n < (Buffer.isBuffer(bytes) ? 1000 : 1); n++) {
    const wrong = refusal(bytes, `wrong ${n}`)
    expect(wrong).toMatch(/the passphrase does not decrypt .*\n.*SOFTSIM_KEY_PASSPHRASE/)
    expect(wrong).not.toContain(`wrong ${n}`)
  }
})

/** OpenSSL has moved old ciphers to a provider of their own, which a system may not have. */
const LEGACY = ['-provider', 'legacy', '-provider', 'default']
const hasLegacy = spawnSync('openssl', ['list', '-providers', ...LEGACY]).status === 0

describe.skipIf(!hasLegacy)('a cipher that OpenSSL has retired', () => {
  const out = () => join(temporaryDirectory(), 'key')
  const locked = (...args: string[]) => {
    const path = out()
    const usual = ['-in', privateKeyPath, '-out', path, '-passout', `pass:${PASSPHRASE}`]
    execFileSync('openssl', [...args, ...usual, ...LEGACY], { stdio: 'pipe' })
    return path
  }

  test.each([
    ['rsa', '-traditional', '-des'],
    ['pkcs8', '-topk8', '-v1', 'PBE-MD5-DES'],
    ['pkcs8', '-topk8', '-v1', 'PBE-MD5-DES', '-outform', 'DER'],
    ['pkcs8', '-topk8', '-v1', 'PBE-SHA1-RC2-40'],
    ['pkcs8', '-topk8', '-v2', 'des'],
  ])('is not taken for a wrong passphrase, and the command in the hint works: %s %s %s %s', (...args) => {
    const path = locked(...args)
    const said = refusal(readFileSync(path), PASSPHRASE, path)
    const [, command = ''] = /has retired\nencrypt it with another one: (openssl .+)$/.exec(said) ?? []
    const cwd = temporaryDirectory()
    const options = ['-passin', `pass:${PASSPHRASE}`, '-passout', `pass:${PASSPHRASE}`]
    const [program = '', ...words] = command.split(' ')
    execFileSync(program, [...words, ...options], { cwd })
    opened(read(readFileSync(join(cwd, 'softsim.aes.pem')), PASSPHRASE))
  })
})

test('an RSA key in OpenSSH’s own format gets a hint to rewrite it, which works', () => {
  const path = sshKey('-t', 'rsa', '-b', '2048', '-N', '')
  const said = refusal(readFileSync(path), undefined, path)
  expect(said).toContain("OpenSSH's own format")
  expect(said).toContain(`ssh-keygen -p -m PEM -f ${path}`)
  execFileSync('ssh-keygen', ['-q', '-p', '-m', 'PEM', '-f', path, '-N', ''])
  expect(read(readFileSync(path)).asymmetricKeyType).toBe('rsa')
})

test('the hints use the commands of the system', () => {
  const path = 'C:\\my keys\\mine.pem'
  const openSsh = readFileSync(sshKey('-t', 'rsa', '-b', '2048', '-N', ''))
  const locked = key.export({ type: 'pkcs8', format: 'pem', ...LOCK })
  const on = (platform: NodeJS.Platform) =>
    [openSsh, locked, Buffer.from('BEGIN', 'utf16le'), 'PuTTY-User-Key-File-3: ssh-rsa', 'not a key']
      .flatMap((bytes) => refusal(bytes, undefined, path, platform).split('\n').slice(1))
      .join('\n')
  const hints = on('win32')
  expect(hints).toContain('ssh-keygen -p -m PEM -f "C:\\my keys\\mine.pem"')
  expect(hints).toContain('-in "C:\\my keys\\mine.pem"')
  expect(hints).toContain('PuTTYgen, use Conversions')
  expect(hints).toContain('$env:SOFTSIM_KEY_PASSPHRASE')
  expect(hints).not.toMatch(/chmod|export |read -rs|&&|'C:/)
  expect(on('linux')).toContain("chmod 600 'C:\\my keys\\mine.pem' && ssh-keygen")
  expect(on('linux')).toContain('read -rs SOFTSIM_KEY_PASSPHRASE')
})

test('a key of another type: in OpenSSH’s format, PEM and DER', () => {
  const ed25519 = sshKey('-t', 'ed25519', '-N', '')
  const { privateKey: ec } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { privateKey: ed } = generateKeyPairSync('ed25519')
  // It signs, and decrypts nothing.
  const { privateKey: pss } = generateKeyPairSync('rsa-pss', { modulusLength: 2048 })
  const others = [
    [readFileSync(ed25519), 'ssh-ed25519'],
    [ec.export({ type: 'sec1', format: 'pem' }), 'ec'],
    [ec.export({ type: 'pkcs8', format: 'pem' }), 'ec'],
    [ec.export({ type: 'pkcs8', format: 'der' }), 'ec'],
    [ed.export({ type: 'pkcs8', format: 'pem' }), 'ed25519'],
    [pss.export({ type: 'pkcs8', format: 'pem' }), 'rsa-pss'],
  ] as const
  for (const [bytes, type] of others) {
    const said = refusal(bytes)
    expect(said).toContain(`a key of type ${type};`)
    expect(said).toContain('an RSA key')
    expect(said).toContain('use the RSA private key that matches the public key')
  }
})

test.each([
  ['SPKI PEM', PUBLIC_PEM],
  ['SPKI DER', new Uint8Array(Buffer.from(PUBLIC_PEM.replace(/-----.*?-----|\s/g, ''), 'base64'))],
  ['OpenSSH one-line format', readFileSync(`${privateKeyPath}.pub`)],
  ['SSH2', execFileSync('ssh-keygen', ['-e', '-f', `${privateKeyPath}.pub`])],
  ['PKCS#1', execFileSync('ssh-keygen', ['-e', '-m', 'PEM', '-f', `${privateKeyPath}.pub`])],
])('a public key: %s', (_, bytes) => {
  expect(refusal(Buffer.from(bytes))).toMatch(/is a public key; .*private.*\n/)
})

test('for a .pub file, the hint names the private key beside it', () => {
  const said = refusal(readFileSync(`${privateKeyPath}.pub`), undefined, 'keys/mine.pub')
  expect(said).toMatch(/ in keys\/mine$/)
})

describe('a PKCS#12 bundle', () => {
  const pkcs12 = (...options: string[]) => {
    const cwd = temporaryDirectory()
    const { certPath, keyPath } = selfSigned(cwd)
    const path = join(cwd, 'bundle.p12')
    const given = ['-inkey', keyPath, '-in', certPath, '-out', path, '-passout', `pass:${PASSPHRASE}`]
    execFileSync('openssl', ['pkcs12', '-export', ...options, ...given], { stdio: 'pipe' })
    return path
  }

  test.each(hasLegacy ? [[], ['-legacy']] : [[]])('%s: the command in the hint extracts it', (...options) => {
    const path = pkcs12(...options)
    for (const passphrase of [undefined, PASSPHRASE]) {
      const said = refusal(readFileSync(path), passphrase, path)
      const [, command = ''] = /is a PKCS#12 bundle\nextract the key from it: (openssl .+)$/.exec(said) ?? []
      const cwd = temporaryDirectory()
      const [program = '', ...words] = command.split(' ')
      execFileSync(program, [...words, '-passin', `pass:${PASSPHRASE}`], { cwd })
      expect(read(readFileSync(join(cwd, 'softsim.key.pem'))).type).toBe('private')
    }
  })

  const HEADS = ['30', '3080', '307f', '308181', '30820101', '3083010101', '308401010101']
  test.each(HEADS)('with a length of any form: %s', (head) => {
    const bytes = Buffer.from(`${head.length === 2 ? '3005' : head}020103`, 'hex')
    expect(refusal(bytes)).toContain('is a PKCS#12 bundle')
  })
})

describe('a key that has lost its line breaks', () => {
  const locked = String(key.export({ type: 'pkcs8', format: 'pem', ...LOCK }))
  const openSsh = readFileSync(sshKey('-t', 'rsa', '-b', '2048', '-N', ''), 'utf8')

  const ENDS = { nothing: '', 'a space': ' ', 'a carriage return': '\r' }
  test.each(Object.entries(ENDS))('%s in place of each: the hint is enough', (_, end) => {
    for (const pem of [PEM, locked, openSsh]) {
      const bytes = pem.replaceAll('\n', end)
      for (const passphrase of [undefined, PASSPHRASE]) {
        const actual = refusal(bytes, passphrase)
        expect(actual).toMatch(/the key in .* has lost its line breaks\n.* put one after/)
      }
    }
    const mended = PEM.replaceAll('\n', end)
      .replace(/(KEY-----)/, '$1\n')
      .replace(/(-----END)/, '\n$1')
    opened(read(mended))
  })

  test('a backslash and an n in place of each', () => {
    const bytes = PEM.replaceAll('\n', '\\n')
    expect(refusal(bytes)).toMatch(/lost its line breaks\nput a line break in place of each "\\n"$/)
    opened(read(bytes.replaceAll('\\n', '\n')))
  })
})

describe('a key in UTF-16', () => {
  const little = Buffer.from(`\ufeff${PEM}`, 'utf16le')

  test.each([
    ['as PowerShell writes it', little],
    ['big-endian', Buffer.from(little).swap16()],
    ['without its byte order mark', little.subarray(2)],
  ])('%s', (_, bytes) => {
    expect(refusal(bytes)).toMatch(/ is a text file in UTF-16\nconvert it: .*softsim\.ascii\.pem\)?$/)
  })

  test.skipIf(!hasPosix)('the command in the hint converts it', () => {
    const cwd = temporaryDirectory()
    const path = join(cwd, 'key.pem')
    writeFileSync(path, little)
    const [, command = ''] = /convert it: (.+)$/.exec(refusal(little, undefined, path)) ?? []
    execFileSync('/bin/sh', ['-c', command], { cwd })
    const converted = join(cwd, 'softsim.ascii.pem')
    opened(read(readFileSync(converted)))
    expect(statSync(converted).mode & 0o077).toBe(0)
  })
})

test('a key that is cut off, or whose lines begin with spaces', () => {
  for (const pem of [PEM, key.export({ type: 'pkcs8', format: 'pem', ...LOCK }).toString()]) {
    for (const cut of [pem.slice(0, pem.length / 2), pem.trimEnd().slice(0, -1)]) {
      expect(refusal(cut)).toMatch(/ is cut off: the END line is missing\ncopy it again$/)
    }
    for (const start of ['    ', '> ']) {
      const seen = refusal(pem.replaceAll(/^/gm, start))
      expect(seen).toMatch(/^the lines of .+ begin with spaces or with ">"\nremove them$/)
    }
  }
})

test.each([
  ['words', 'not a key'],
  ['bytes', Buffer.from([0x30, 0x82, 0x01, 0x00, 0xff])],
  ['an empty PEM frame', '-----BEGIN RSA PRIVATE KEY-----\n-----END RSA PRIVATE KEY-----\n'],
])('garbage: %s', (_, bytes) => {
  expect(refusal(bytes)).toMatch(/is not a readable private key.*\n.*openssl/)
})

const SILENT = { warn() {}, tell() {} }

/** What is said of a path of a key. */
function refusalOf(path: string, platform?: NodeJS.Platform): Advice {
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
    const { outcome, hint } = refusalOf('-----BEGIN RSA PRIVATE KEY-----', platform)
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
        const { outcome, message } = refusalOf(given)
        expect(outcome).toBe('usage')
        expect(message).not.toContain(key.slice(80, 120))
      }
    }
  }
})

test.skipIf(!hasPosix)('a key that arrives through a pipe in parts is read completely', () => {
  const file = join(temporaryDirectory(), 'long.pem')
  // On Linux a pipe keeps each of these parts in a page of its own, and has 16 pages: less than all of it at once.
  writeFileSync(file, `${'Bag Attributes: <No Attributes>\n'.repeat(1500)}${PEM}`)
  const pipe = makePipe()
  spawn('dd', [`if=${file}`, `of=${pipe}`, 'bs=2049'], { stdio: 'ignore' })
  expect(readKey(pipe, undefined, SILENT).object.equals(key)).toBe(true)
})

const TOKENS = `S3cr3t-K3y-0123456789 abCDefGHijKL ./c0ffee00c0ffee00 sk_live_51HqJx2eZvKYlo LXA==
c0ffee00c0ffee00c0ffee00c0ffee00 3e5d7b16-8f2a-4a51-9c5d-0a1b2c3d4e5f abCDefGHijKL== abcdefghijklmnopqrstuvwx
eyJhbGciOiJI.eyJzdWIi.c2lnbmF0dXJl ab/cd+ef01/gh== /ab9cdefghijkl onok.a1b2c3d4e5f6.abcd c2lnbmF0dXJl.c2ln.p9`

const SECRETS = [...TOKENS.split(/\s/), '-----END RSA PRIVATE KEY-----']
test.each(SECRETS)('what looks like an API key and is no file is not repeated: %s', (token) => {
  const { outcome, message, hint } = refusalOf(token)
  expect([outcome, `${message} ${hint}`.includes(token.slice(0, 12))]).toEqual(['key', false])
  expect(message).toContain("can't read the private key")
})

test.each([
  ...['softsim.pem', 'softsim-2026-line-4.pem', 'keys/line4/softsim.key', 'id_rsa', 'production_line'],
  ...['abCDefGHijK', 'test/c0ffee00c0ffee00'],
])('a name of a file that is not there is repeated: %s', (name) =>
  expect(refusalOf(name).message).toContain(`can't read the private key ${name}: no such file`),
)

test.each([
  ['softsim.pem ', 'check -k: the name ends in a space'],
  ['softsim.pem\r', 'check -k: the name ends in a carriage return: the script has Windows line ends'],
])('an end that nobody sees is named: %j', (path, hint) => expect(refusalOf(path).hint).toBe(hint))

test('a line of a key given as the path is not repeated, but a path that looks like one is', () => {
  for (const line of PEM.split('\n').filter((each) => each.length === 64)) {
    expect(refusalOf(line)).toMatchObject({ outcome: 'usage', message: expect.not.stringContaining(line) })
  }
  const path = join(temporaryDirectory(), 'Line2KeyOfTheProductionInHall4ForNext2026')
  expect(refusalOf(path).message).toContain(`can't read the private key ${path}`)
  writeFileSync(path, PEM)
  expect(readKey(path, undefined, SILENT).object.type).toBe('private')
})

test('no more than 64 KiB of a file are read', () => {
  const path = join(temporaryDirectory(), 'long.pem')
  const before = '\n'.repeat(64 * 1024 - PEM.length)
  writeFileSync(path, before + PEM)
  expect(readKey(path, undefined, SILENT).object.type).toBe('private')
  writeFileSync(path, `${before}${'\n'.repeat(99)}${PEM}`)
  expect(refusalOf(path).message).toContain('is cut off')
})

test('a file that may not be read: the hint says who must permit it', () => {
  const path = join(temporaryDirectory(), 'softsim.pem')
  writeFileSync(path, '')
  fail(/^open/, '', 'EACCES')
  expect(refusalOf(path).hint).toBe('give this user permission to read the file')
  fail(/^open/, '', 'EIO')
  expect(refusalOf(path).hint).toBe('check -k: its value is the file of the private key')
})

test.skipIf(!modesCount)('a key that every user can change is read with a warning', () => {
  const path = join(temporaryDirectory(), 'key')
  writeFileSync(path, PEM)
  const said: unknown[] = []
  const messages = { ...SILENT, warn: (...words: unknown[]) => said.push(words) }
  for (const mode of [0o600, 0o660, 0o644, 0o666]) {
    chmodSync(path, mode)
    expect(readKey(path, undefined, messages).inFile).toBe(1)
  }
  expect(said).toEqual([[`every user of this machine can change ${path}`, 'open-key', path]])
})
