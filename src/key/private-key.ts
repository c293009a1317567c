/** The RSA private key of the user: how it is read, its passphrase, what a file is that is none, and how it decrypts (RSA-OAEP). */
import { constants, createPrivateKey, type KeyObject, privateDecrypt, webcrypto } from 'node:crypto'
import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { errnoOf, Failure, reasonOf, UnusableProfile } from '../failure.ts'
import { pause } from '../pause.ts'
import type { Messages } from '../words.ts'

export interface PrivateKey {
  readonly object: KeyObject
  /** The file that it was read from, for messages. */
  readonly name: string
}

/** The key is protected, and the passphrase is missing or wrong: whoever can ask a person for it can try again. */
export class PassphraseFailure extends Failure {}

const STANDARD_INPUT = 0

/** In bytes. A PEM file of a 16384-bit key has 13 kB. */
const LARGEST_KEY = 64 * 1024

/**
 * Reads the private key of a file or a pipe (`-k <(gpg -d softsim.pem.gpg)`), or of standard input.
 * @param path a file, or `-` for standard input
 * @param passphrase for a protected key; undefined or empty if there is none
 * @throws {PassphraseFailure}
 * @throws {Failure} `key` if the file can't be read, or says what it is instead
 */
export function readKey(path: string, passphrase: string | undefined, messages: Messages): PrivateKey {
  const isInput = path === '-'
  if (isInput && process.getBuiltinModule('node:tty').isatty(STANDARD_INPUT)) {
    const end = process.platform === 'win32' ? 'Ctrl-Z and Enter' : 'Ctrl-D'
    messages.tell(0, `waiting for the private key from the keyboard; after it, press ${end}`)
  }
  try {
    return parsePrivateKey(readBounded(path), isInput ? 'standard input' : path, passphrase)
  } catch (error) {
    throw errnoOf(error) === undefined ? error : unread(path, error)
  }
}

function readBounded(path: string): Buffer {
  const file = path === '-' ? STANDARD_INPUT : openSync(path, 'r')
  const bytes = Buffer.alloc(LARGEST_KEY)
  let length = 0
  while (length < bytes.length) {
    try {
      const read = readSync(file, bytes, length, bytes.length - length, null)
      if (read === 0) break
      length += read
    } catch (error) {
      // On Windows, this is the end of a pipe.
      if (errnoOf(error) === 'EOF') break
      // Standard input may be a pipe that does not block, and its other end may need a while.
      if (errnoOf(error) !== 'EAGAIN') throw error
      pause(5)
    }
  }
  if (path !== '-') closeSync(file)
  return bytes.subarray(0, length)
}

/** People may give the key itself, or an API key, in place of its file. Only what is surely a name is repeated. */
const isFileName = (path: string) => existsSync(path) || /^[^\r\n]{1,200}\.(pem|key|der|txt)$/i.test(path)

function unread(path: string, error: unknown): Failure {
  const name = isFileName(path) ? ` ${path}` : ''
  const check = 'check -k: its value is the file of the private key, or - for standard input'
  const hint = errnoOf(error) === 'EACCES' ? 'give this user permission to read the file' : check
  return new Failure('key', `can't read the private key${name}: ${reasonOf(error)}`, hint, error)
}

/**
 * Reads an RSA private key: PKCS#1 or PKCS#8 (RFC 8017 A.1.2, RFC 5208), PEM or DER.
 * @param name the file, for messages
 * @throws {PassphraseFailure}
 * @throws {Failure} `key`, which says what it is instead
 */
export function parsePrivateKey(bytes: Buffer, name: string, passphrase: string | undefined): PrivateKey {
  const forms = bytes.includes('-----BEGIN ')
    ? [{ format: 'pem' } as const]
    : (['pkcs8', 'pkcs1'] as const).map((type) => ({ format: 'der', type }) as const)
  const codes: unknown[] = []
  for (const form of forms) {
    let object: KeyObject
    try {
      object = createPrivateKey({ key: bytes, ...form, ...(passphrase && { passphrase }) })
    } catch (error) {
      codes.push((error as NodeJS.ErrnoException).code)
      continue
    }
    if (object.asymmetricKeyType === 'rsa') return { object, name }
    throw notRsa(`${name} is a key of type ${object.asymmetricKeyType ?? 'unknown'}`)
  }
  // A passphrase does not help where OpenSSL has retired the cipher, such as DES.
  throw notReadable(bytes, name, codes.includes('ERR_OSSL_EVP_UNSUPPORTED') ? undefined : { passphrase })
}

export const RIGHT_KEY =
  'use the RSA private key that belongs to the public key with which the profiles were fetched'

const notRsa = (message: string) => new Failure('key', `${message}; decryption needs an RSA key`, RIGHT_KEY)

/** Protected PKCS#8 in DER begins with an object identifier of PKCS#5 or PKCS#12 (RFC 8018 A, RFC 7292 C). */
const WITH_PASSPHRASE = ['2a864886f70d0105', '2a864886f70d010c01'].map((hex) => Buffer.from(hex, 'hex'))

/** A wrong passphrase decrypts to bytes that look like a key once in 256 times: the error does not say it. */
const isProtected = (bytes: Buffer) =>
  ['BEGIN ENCRYPTED PRIVATE KEY', 'Proc-Type: 4,ENCRYPTED'].some((words) => bytes.includes(words)) ||
  WITH_PASSPHRASE.some((each) => bytes.subarray(0, 40).includes(each))

/** Says what people give most often instead of a private key. */
function notReadable(bytes: Buffer, name: string, lock: { passphrase: string | undefined } | undefined) {
  const text = bytes.toString('latin1')
  const decoded = Buffer.from(text.replace(/-----[^-]+-----/g, ''), 'base64')
  const instead = (what: string, hint = RIGHT_KEY) => new Failure('key', `${name} is ${what}`, hint)
  if (text === '') return instead('empty', 'copy the key again, or check the command that prints it')
  if (/BEGIN [A-Z0-9 ]*PRIVATE KEY-----/.test(text) && !/-----END [A-Z0-9 ]*PRIVATE KEY-----/.test(text))
    return instead('cut off: it has no END line', 'copy the key again')
  if (lock && isProtected(bytes)) return notUnlocked(name, lock.passphrase)
  if (text.includes('BEGIN OPENSSH PRIVATE KEY')) {
    if (!decoded.includes('ssh-rsa')) return notRsa(`${name} is not of type RSA`)
    const file = /^[\w@%+=:,.\\/-]+$/.test(name) ? name : `"${name}"`
    return instead('in the format of OpenSSH', `rewrite it as PEM: ssh-keygen -p -m PEM -f ${file}`)
  }
  if (/BEGIN (RSA |SSH2 )?PUBLIC KEY|^(ssh|ecdsa)-\S+ AAAA/m.test(text)) return instead('a public key')
  if (/BEGIN (NEW )?CERTIFICATE REQUEST/.test(text)) return instead('a request for a certificate (CSR)')
  if (/BEGIN [A-Z0-9 ]*CERTIFICATE/.test(text)) return instead('a certificate')
  if (decoded.includes('-----BEGIN ')) return instead('base64 of a PEM file', 'decode it first')
  return instead(
    'not a readable private key (PKCS#1 or PKCS#8, PEM or DER)',
    'see "Formats" in the manual, keys.md (src/key/README.md): how to convert what is none of these',
  )
}

function notUnlocked(name: string, passphrase: string | undefined): Failure {
  const [message, hint] = passphrase
    ? [`the passphrase does not decrypt ${name}`, 'check the passphrase, in SOFTSIM_KEY_PASSPHRASE']
    : [`${name} is protected with a passphrase, but none was given`, 'set SOFTSIM_KEY_PASSPHRASE to it']
  return new PassphraseFailure('key', message, hint)
}

/**
 * Decrypts one profile: RSAES-OAEP with SHA-1, MGF1 with SHA-1 and an empty label (RFC 8017 7.1).
 * @param ciphertext as long as the modulus of the key, 512 bytes for 4096 bits
 * @throws {UnusableProfile} `locked`
 */
export type Decrypt = (ciphertext: Buffer) => Promise<Buffer>

const ALGORITHM = { name: 'RSA-OAEP', hash: 'SHA-1' }

/**
 * Returns what decrypts profiles: one on this thread, several on all processors.
 * @param count how many profiles there are, about
 * @throws {Failure} `key` if the key is damaged
 */
export async function decryptor(key: PrivateKey, count: number): Promise<Decrypt> {
  // In Node, only one thread at a time can use a key.
  const copies = count === 1 ? [] : await copiesOf(key, Math.min(count, availableParallelism()))
  const one = { key: key.object, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha1' }
  let calls = 0
  return async (ciphertext) => {
    const copy = copies[calls++ % copies.length]
    try {
      if (copy === undefined) return privateDecrypt(one, ciphertext)
      return Buffer.from(await webcrypto.subtle.decrypt(ALGORITHM, copy, ciphertext))
    } catch {
      throw new UnusableProfile('locked', 'the private key does not decrypt it')
    }
  }
}

async function copiesOf({ object, name }: PrivateKey, length: number): Promise<webcrypto.CryptoKey[]> {
  const { subtle } = webcrypto
  try {
    const der = object.export({ type: 'pkcs8', format: 'der' })
    const copy = () => subtle.importKey('pkcs8', der, ALGORITHM, false, ['decrypt'])
    return await Promise.all(Array.from({ length }, copy))
  } catch (error) {
    throw new Failure('key', `can't use the private key ${name}: ${reasonOf(error)}`, RIGHT_KEY, error)
  }
}

/** One profile may be damaged. If so many do not decrypt, the key is wrong, or they are of another one. */
export const LOCKED = 5

/**
 * The failure of a key that does not decrypt profiles.
 * @param count how many
 */
export function wrongKey({ name }: PrivateKey, count: number): Failure {
  const what = count === 1 ? 'the profile' : `${count} profiles`
  const hint = `${RIGHT_KEY}; if only these have another key, move them away: softsim move takes the lowest`
  return new Failure('key', `the key ${name} does not decrypt ${what}`, hint)
}
