import { createPrivateKey, type KeyObject } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { errnoOf, Failure } from '../failure.ts'
import { pause } from '../pause.ts'
import type { Messages } from '../words.ts'
import { diagnosis, isKeyItself, nameOf, notRsa, unread } from './malformed-key.ts'

const STANDARD_INPUT = 0
const EMPTY_PIPE_PAUSE_MS = 5

/** In bytes. */
const LARGEST_KEY = 64 * 1024

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
  if (isKeyItself(path)) throw new Failure('key-instead-of-file')
  let bytes: Buffer
  try {
    bytes = readBounded(path, messages)
  } catch (error) {
    throw unread(path, error)
  }
  return parsePrivateKey(bytes, path, passphrase)
}

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

/**
 * Reads an RSA private key: PKCS#1 or PKCS#8 (RFC 8017 A.1.2, RFC 5208), PEM or DER.
 * @param path the file that messages and hints name; `-` for standard input
 * @param passphrase for an encrypted key; undefined or empty if there is none
 * @throws {Failure} that says what it is instead
 */
export function parsePrivateKey(bytes: Buffer, path: string, passphrase: string | undefined): PrivateKey {
  const secret = passphrase ? { passphrase } : {}
  const attempts = isPem(bytes)
    ? [() => createPrivateKey({ key: bytes, ...secret })]
    : (['pkcs8', 'pkcs1'] as const).map(
        (type) => () => createPrivateKey({ key: bytes, format: 'der', type, ...secret }),
      )
  const errors: unknown[] = []
  for (const attempt of attempts) {
    try {
      return { object: checked(attempt(), nameOf(path)), inFile: keysIn(bytes.toString('latin1')) }
    } catch (error) {
      if (error instanceof Failure) throw error
      errors.push(error)
    }
  }
  throw diagnosis(bytes, path, passphrase, errors)
}

const isPem = (bytes: Buffer) => bytes.includes('-----BEGIN ')

const keysIn = (pem: string) => pem.split(/-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/).length - 1

function checked(key: KeyObject, name: string): KeyObject {
  if (key.asymmetricKeyType !== 'rsa') throw notRsa(name, key.asymmetricKeyType ?? 'unknown')
  return key
}
