import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import { parse } from 'node:path'
import { errnoOf, Failure, reasonOf } from '../failure.ts'
import { pause } from '../pause.ts'
import { type PrivateKey, parsePrivateKey } from './private-key.ts'

const STANDARD_INPUT = 0
const EMPTY_PIPE_PAUSE_MS = 5

/** In characters. */
const SHORTEST_TOKEN = 12

/** Of what has no digits and only small letters. */
const LONGEST_NAME = 20

const KEY_ENDING = /\.(asc|bak|bin|cer|crt|der|enc|gpg|key|old|p8|p12|pem|pfx|pgp|ppk|prv|pub|txt)$/i

/** In bytes. */
const LARGEST_KEY = 64 * 1024

/**
 * Reads the private key from a file or a pipe (`-k <(gpg -d softsim.pem.gpg)`), or from standard input (`-k -`).
 * @throws {Failure} if `path` is not a path, or the key can't be used
 */
export function readKey(path: string, passphrase: string | undefined): PrivateKey {
  if (/-----BEGIN|\n/.test(path) || (path.length > 200 && (/^\s*MII/.test(path) || !/[/\\.]/.test(path)))) {
    throw new Failure('key-instead-of-file')
  }
  let bytes: Buffer
  try {
    bytes = readBounded(path)
  } catch (error) {
    if (isBase64Line(path)) throw new Failure('key-instead-of-file')
    // With the same exit code as for any other file that does not exist.
    if (isTokenLike(path) && !existsSync(path))
      throw new Failure('no-such-key', "can't read the private key: there is no file of that name (ENOENT)")
    const facts = { kind: 'unread-key', path } as const
    throw new Failure(facts, `can't read the private key ${path}: ${reasonOf(error)}`, error)
  }
  return parsePrivateKey(bytes, path, passphrase)
}

function readBounded(path: string): Buffer {
  const file = path === '-' ? STANDARD_INPUT : openSync(path, 'r')
  try {
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
