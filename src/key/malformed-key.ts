/** What is given as the private key, if it is not the file of one that can be used. */
import { createPublicKey } from 'node:crypto'
import { existsSync } from 'node:fs'
import { parse } from 'node:path'
import type { KeyKind } from '../advice/hints.ts'
import { errnoOf, Failure, reasonOf } from '../failure.ts'

/** In characters. */
const SHORTEST_TOKEN = 12

/** Of what has no digits and only small letters. */
const LONGEST_NAME = 20

const KEY_ENDING = /\.(asc|bak|bin|cer|crt|der|enc|gpg|key|old|p8|p12|pem|pfx|pgp|ppk|prv|pub|txt)$/i

export const nameOf = (path: string) => (path === '-' ? 'standard input' : path)

export const notRsa = (name: string, type: string) =>
  new Failure('other-key', `${name} is a key of type ${type}; decryption needs an RSA key`)

/** Whether a text is a private key, or a part of one, in place of the path of its file. */
export const isKeyItself = (path: string) =>
  /-----BEGIN|\n/.test(path) || (path.length > 200 && (/^\s*MII/.test(path) || !/[/\\.]/.test(path)))

/** Why there is no file to read. */
export function unread(path: string, error: unknown): Failure {
  if (isBase64Line(path)) return new Failure('key-instead-of-file')
  // With the same exit code as for any other file that does not exist.
  if (isTokenLike(path) && !existsSync(path))
    return new Failure('no-such-key', "can't read the private key: there is no file of that name (ENOENT)")
  const facts = { kind: 'unread-key', path } as const
  return new Failure(facts, `can't read the private key ${path}: ${reasonOf(error)}`, error)
}

/** Users may also pass one line of a key by mistake. No part of a key is ever printed. */
const isBase64Line = (text: string) =>
  /^[A-Za-z0-9+/]{40,}={0,2}$/.test(text) && [/[A-Z]/, /[a-z]/, /\d/].every((each) => each.test(text))

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
 * What a file is instead.
 * @param errors why it can't be read as a private key
 */
export function diagnosis(
  bytes: Buffer,
  path: string,
  passphrase: string | undefined,
  errors: readonly unknown[],
): Failure {
  const name = nameOf(path)
  const text = bytes.toString('latin1')
  const failure = (kind: KeyKind, message: string) => new Failure({ kind, path }, message)
  if (bytes.length === 0) return failure('empty-key', `${name} is empty`)
  if (isUtf16(bytes)) return failure('utf16-key', `${name} is a text file in UTF-16`)
  if (NO_LINE_BREAKS.test(text)) {
    const kind = text.includes('\\n') ? 'escaped-line-breaks' : 'lost-line-breaks'
    return failure(kind, `the key in ${name} has lost its line breaks`)
  }
  if (/^[ \t>]+-----(BEGIN|END)/m.test(text))
    return failure('indented-key', `the lines of ${name} begin with spaces or with ">"`)
  if (/-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/.test(text) && !/^-----END .*-----/m.test(text))
    return failure('cut-off-key', `${name} is cut off: the END line is missing`)
  if (isPkcs12(bytes))
    return failure(text.includes(RC2) ? 'old-pkcs12' : 'pkcs12', `${name} is a PKCS#12 bundle`)
  if (text.includes('BEGIN OPENSSH PRIVATE KEY')) {
    const type = openSshType(text)
    return type === undefined || type === 'ssh-rsa'
      ? failure('openssh-key', `${name} is in OpenSSH's own format`)
      : notRsa(name, type)
  }
  if (passphrase && errors.some((error) => errnoOf(error) === 'ERR_OSSL_EVP_UNSUPPORTED'))
    return failure('retired-cipher', `${name} is encrypted with a cipher that OpenSSL has retired`)
  if (isEncrypted(text, errors)) {
    return passphrase
      ? failure('wrong-passphrase', `the passphrase does not decrypt ${name}`)
      : failure('missing-passphrase', `${name} is protected with a passphrase, but none was given`)
  }
  if (/BEGIN (RSA |SSH2 )?PUBLIC KEY|^(ssh|ecdsa)-\S+ AAAA/m.test(text) || isDerPublicKey(bytes))
    return failure('public-key', `${name} is a public key; decryption needs the private key`)
  if (text.startsWith('PuTTY-User-Key-File')) return failure('putty-key', `${name} is in PuTTY's own format`)
  return failure('unreadable-key', `${name} is not a readable private key (PKCS#1 or PKCS#8, PEM or DER)`)
}

/** Windows PowerShell writes UTF-16 with `>`. A key in DER begins with another byte than a byte order mark. */
const isUtf16 = (bytes: Buffer) =>
  /^(?:\xff\xfe|\xfe\xff)/.test(bytes.toString('latin1', 0, 2)) ||
  bytes.includes(Buffer.from('BEGIN', 'utf16le').subarray(0, -1))

const NO_LINE_BREAKS = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[ \t]*(?:[^\r\n]|\r(?!\n))/

/** In DER or BER, a sequence that begins with version 3 (RFC 7292 4). */
function isPkcs12(bytes: Buffer): boolean {
  const [tag, length = 0] = bytes
  const at = 2 + (length > 0x80 ? length - 0x80 : 0)
  return tag === 0x30 && bytes.toString('hex', at, at + 3) === '020103'
}

/** The object identifier of the cipher of old bundles (RFC 7292 C). OpenSSL 3 reads it only with `-legacy`. */
const RC2 = Buffer.from('2a864886f70d010c0106', 'hex').toString('latin1')

/** OpenSSH's own format names the type of the key in its first bytes (PROTOCOL.key in its sources). */
function openSshType(text: string): string | undefined {
  const body = /BEGIN OPENSSH PRIVATE KEY-----([^-]*)/.exec(text)?.[1] ?? ''
  const bytes = Buffer.from(body, 'base64').toString('latin1')
  return /ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-[a-z0-9]+/.exec(bytes)?.[0]
}

/** The object identifier of PBES2 (RFC 8018 A.4) in DER. An encrypted PKCS#8 key begins with it. */
const PBES2 = Buffer.from('2a864886f70d01050d', 'hex').toString('latin1')

function isEncrypted(text: string, errors: readonly unknown[]): boolean {
  // One wrong passphrase in 256 seems to decrypt, and the error is another one then.
  if (text.slice(0, 64).includes(PBES2)) return true
  if (/BEGIN ENCRYPTED PRIVATE KEY|Proc-Type: 4,ENCRYPTED/.test(text)) return true
  return errors.some((error) => {
    const code = errnoOf(error)
    return code === 'ERR_MISSING_PASSPHRASE' || code === 'ERR_OSSL_BAD_DECRYPT'
  })
}

const isDerPublicKey = (bytes: Buffer) =>
  (['spki', 'pkcs1'] as const).some((type) => {
    try {
      return createPublicKey({ key: bytes, format: 'der', type }) !== undefined
    } catch {
      return false
    }
  })
