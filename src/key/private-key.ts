import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { parse } from 'node:path'
import type { KeyKind } from '../advice/exit-codes.ts'
import { errnoOf, Failure, reasonOf } from '../failure.ts'
import { pause } from '../pause.ts'
import type { Messages } from '../words.ts'

const STANDARD_INPUT = 0
const EMPTY_PIPE_PAUSE_MS = 5

/** In bytes. */
const LARGEST_KEY = 64 * 1024

/** Of what may be an API key, in characters. */
const SHORTEST_TOKEN = 12

/** Of what has no digits and only small letters. */
const LONGEST_NAME = 20

const KEY_ENDING = /\.(asc|bak|bin|cer|crt|der|enc|gpg|key|old|p8|p12|pem|pfx|pgp|ppk|prv|pub|txt)$/i

/** The first private key of a file. */
export interface PrivateKey {
  readonly object: KeyObject
  /** How many keys the file has, if it is PEM. */
  readonly inFile: number
}

/**
 * Reads the private key from a file or a pipe (`-k <(gpg -d softsim.pem.gpg)`), or from standard input (`-k -`).
 * @throws {Failure} if `path` is not a path, or the key can't be used
 */
export function readKey(path: string, passphrase: string | undefined, messages: Messages): PrivateKey {
  let bytes: Buffer
  try {
    bytes = readBounded(path, messages)
  } catch (error) {
    throw unread(path, error)
  }
  return parsePrivateKey(bytes, path, passphrase)
}

const nameOf = (path: string) => (path === '-' ? 'standard input' : path)

function readBounded(path: string, messages: Messages): Buffer {
  const writer = writerOf(path)
  if (writer !== undefined) messages.tell(0, `waiting for the private key, from ${writer}`)
  const file = path === '-' ? STANDARD_INPUT : openSync(path, 'r')
  try {
    if (isOpenToAll(file))
      messages.warn(`every user of this machine can change ${nameOf(path)}`, 'open-key', path)
    const bytes = Buffer.alloc(LARGEST_KEY)
    let length = 0
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = readSome(file, bytes.subarray(length))
    }
    return bytes.subarray(0, length)
  } finally {
    if (file !== STANDARD_INPUT) closeSync(file)
  }
}

/** Who must write the key while this call waits: not a program that the shell has started for it. */
function writerOf(path: string): string | undefined {
  if (path !== '-') {
    const isNamedPipe = !/^\/(dev|proc)\//.test(path) && statSync(path).isFIFO()
    return isNamedPipe ? `a program that writes it to the pipe ${path}` : undefined
  }
  if (!process.getBuiltinModule('node:tty').isatty(STANDARD_INPUT)) return undefined
  return `the keyboard: after it, press ${process.platform === 'win32' ? 'Ctrl-Z and Enter' : 'Ctrl-D'}`
}

const WRITE_BY_OTHERS = 0o002

/** Windows has no such rights. */
function isOpenToAll(file: number): boolean {
  if (process.platform === 'win32') return false
  const status = fstatSync(file)
  return status.isFile() && (status.mode & WRITE_BY_OTHERS) !== 0
}

/** Returns 0 at the end. */
function readSome(file: number, bytes: Buffer): number {
  for (;;) {
    try {
      return readSync(file, bytes, 0, bytes.length, null)
    } catch (error) {
      // On Windows, this is the end of a pipe.
      if (errnoOf(error) === 'EOF') return 0
      // Standard input may be a pipe that does not block.
      if (errnoOf(error) !== 'EAGAIN') throw error
      pause(EMPTY_PIPE_PAUSE_MS)
    }
  }
}

/** Why there is no file to read. */
function unread(path: string, error: unknown): Failure {
  if (isKeyItself(path)) return new Failure('key-instead-of-file')
  // With the same exit code as for any other file that does not exist.
  if (isTokenLike(path) && !existsSync(path))
    return new Failure('no-such-key', "can't read the private key: there is no file of that name (ENOENT)")
  const facts = { kind: 'unread-key', path } as const
  return new Failure(facts, `can't read the private key ${path}: ${reasonOf(error)}`, error)
}

/** Users may pass the key by mistake, or one line of it. No part of a key is ever printed. */
const isKeyItself = (text: string) =>
  /-----BEGIN|\n/.test(text) ||
  (text.length > 200 && (/^\s*MII/.test(text) || !/[/\\.]/.test(text))) ||
  (/^[A-Za-z0-9+/]{40,}={0,2}$/.test(text) && [/[A-Z]/, /[a-z]/, /\d/].every((each) => each.test(text)))

/**
 * Short names, names that end as those of keys do, and paths in a directory that exists, are not. The last piece of a key
 * can be short, and then often ends in padding.
 */
function isTokenLike(text: string): boolean {
  const { root, dir, base } = parse(text)
  if (/^-----|[+=]/.test(text)) return true
  if (text.length < SHORTEST_TOKEN || KEY_ENDING.test(base.trimEnd())) return false
  const isInDirectory = dir !== '' && dir !== root && dir !== '.' && existsSync(dir)
  if (isInDirectory) return false
  return text.length > LONGEST_NAME || /\d/.test(text) || (/[a-z]/.test(text) && /[A-Z]/.test(text))
}

/**
 * Reads an RSA private key: PKCS#1 or PKCS#8 (RFC 8017 A.1.2, RFC 5208), PEM or DER.
 * @param path the file that messages and hints name; `-` for standard input
 * @param passphrase for an encrypted key; undefined or empty if there is none
 * @throws {Failure} that says what it is instead
 */
export function parsePrivateKey(bytes: Buffer, path: string, passphrase: string | undefined): PrivateKey {
  const [name, text] = [nameOf(path), bytes.toString('latin1')]
  const forms = text.includes('-----BEGIN ')
    ? [{ format: 'pem' } as const]
    : (['pkcs8', 'pkcs1'] as const).map((type) => ({ format: 'der', type }) as const)
  const errors: unknown[] = []
  for (const form of forms) {
    try {
      const object = createPrivateKey({ key: bytes, ...form, ...(passphrase && { passphrase }) })
      if (object.asymmetricKeyType !== 'rsa') throw notRsa(name, object.asymmetricKeyType)
      return { object, inFile: text.split(/-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/).length - 1 }
    } catch (error) {
      if (error instanceof Failure) throw error
      errors.push(error)
    }
  }
  const file = { bytes, text, codes: errors.map(errnoOf), isTried: Boolean(passphrase) }
  const [kind, words] = WRONG.find(([, , isIt]) => isIt(file)) as Kind
  const type = kind === 'openssh-key' ? openSshType(text) : undefined
  if (type !== undefined && type !== 'ssh-rsa') throw notRsa(name, type)
  throw new Failure(
    { kind, path },
    words.replace('FILE', () => name),
  )
}

const notRsa = (name: string, type = 'unknown') =>
  new Failure('other-key', `${name} is a key of type ${type}; decryption needs an RSA key`)

interface Unread {
  readonly bytes: Buffer
  /** As Latin-1. */
  readonly text: string
  /** Why it can't be read. */
  readonly codes: readonly (string | undefined)[]
  /** Whether there is a passphrase. */
  readonly isTried: boolean
}

/** Windows PowerShell writes UTF-16 with `>`. A key in DER begins with another byte than a byte order mark. */
const isUtf16 = (text: string) => /^(\xff\xfe|\xfe\xff)/.test(text) || text.includes('B\0E\0G\0I\0N')

const NO_LINE_BREAKS = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[ \t]*(?:[^\r\n]|\r(?!\n))/

/** In DER or BER, a sequence that begins with version 3 (RFC 7292 4). */
function isPkcs12(bytes: Buffer): boolean {
  const [tag, length = 0] = bytes
  const at = 2 + (length > 0x80 ? length - 0x80 : 0)
  return tag === 0x30 && bytes.toString('hex', at, at + 3) === '020103'
}

const latin1 = (hex: string) => Buffer.from(hex, 'hex').toString('latin1')

/** The object identifier of the cipher of old bundles (RFC 7292 C). OpenSSL 3 reads it only with `-legacy`. */
const RC2 = latin1('2a864886f70d010c0106')

/** OpenSSH's own format names the type of the key in its first bytes (PROTOCOL.key in its sources). */
function openSshType(text: string): string | undefined {
  const body = /BEGIN OPENSSH PRIVATE KEY-----([^-]*)/.exec(text)?.[1] ?? ''
  const bytes = Buffer.from(body, 'base64').toString('latin1')
  return /ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-[a-z0-9]+/.exec(bytes)?.[0]
}

/** In DER, the object identifiers of PKCS#5 and PKCS#12 (RFC 8018 A, RFC 7292 C). An encrypted PKCS#8 key begins with one. */
const WITH_PASSPHRASE = ['2a864886f70d0105', '2a864886f70d010c01'].map(latin1)

/** One wrong passphrase in 256 seems to decrypt, so the error says nothing. */
const isEncrypted = ({ text }: Unread) =>
  WITH_PASSPHRASE.some((each) => text.slice(0, 64).includes(each)) ||
  /BEGIN ENCRYPTED PRIVATE KEY|Proc-Type: 4,ENCRYPTED/.test(text)

const isDerPublicKey = (bytes: Buffer) =>
  (['spki', 'pkcs1'] as const).some((type) => {
    try {
      return createPublicKey({ key: bytes, format: 'der', type }) !== undefined
    } catch {
      return false
    }
  })

type Kind = readonly [kind: KeyKind, words: string, isIt: (file: Unread) => unknown]

const LOST = 'the key in FILE has lost its line breaks'

/** What a file is that is no readable private key. The first that fits counts. */
const WRONG: readonly Kind[] = [
  ['empty-key', 'FILE is empty', ({ text }) => text === ''],
  ['utf16-key', 'FILE is a text file in UTF-16', ({ text }) => isUtf16(text)],
  ['escaped-line-breaks', LOST, ({ text }) => NO_LINE_BREAKS.test(text) && text.includes('\\n')],
  ['lost-line-breaks', LOST, ({ text }) => NO_LINE_BREAKS.test(text)],
  [
    'indented-key',
    'the lines of FILE begin with spaces or with ">"',
    ({ text }) => /^[ \t>]+-----(BEGIN|END)/m.test(text),
  ],
  [
    'cut-off-key',
    'FILE is cut off: the END line is missing',
    ({ text }) => /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/.test(text) && !/^-----END .*-----/m.test(text),
  ],
  ['old-pkcs12', 'FILE is a PKCS#12 bundle', ({ bytes, text }) => isPkcs12(bytes) && text.includes(RC2)],
  ['pkcs12', 'FILE is a PKCS#12 bundle', ({ bytes }) => isPkcs12(bytes)],
  [
    'openssh-key',
    "FILE is in OpenSSH's own format",
    ({ text }) => text.includes('BEGIN OPENSSH PRIVATE KEY'),
  ],
  [
    'retired-cipher',
    'FILE is encrypted with a cipher that OpenSSL has retired',
    ({ isTried, codes }) => isTried && codes.includes('ERR_OSSL_EVP_UNSUPPORTED'),
  ],
  ['wrong-passphrase', 'the passphrase does not decrypt FILE', (file) => file.isTried && isEncrypted(file)],
  ['missing-passphrase', 'FILE is protected with a passphrase, but none was given', isEncrypted],
  [
    'public-key',
    'FILE is a public key; decryption needs the private key',
    ({ bytes, text }) =>
      /BEGIN (RSA |SSH2 )?PUBLIC KEY|^(ssh|ecdsa)-\S+ AAAA/m.test(text) || isDerPublicKey(bytes),
  ],
  ['putty-key', "FILE is in PuTTY's own format", ({ text }) => text.startsWith('PuTTY-User-Key-File')],
  ['unreadable-key', 'FILE is not a readable private key (PKCS#1 or PKCS#8, PEM or DER)', () => true],
]
