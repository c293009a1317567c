import type { KeyObject } from 'node:crypto'
import { closeSync, openSync, readSync } from 'node:fs'
import { Failure, reasonOf } from '../failure.ts'
import { parsePrivateKey } from './private-key.ts'

/** In bytes. */
const LARGEST_KEY = 64 * 1024

/**
 * Reads the private key from a file, or from a pipe: `-k <(gpg -d softsim.pem.gpg)`.
 * @throws {Failure} `usage` if `path` is not a path, `key` if the key can't be used
 */
export function readKey(
  path: string,
  passphrase: string | undefined,
  platform: NodeJS.Platform = process.platform,
): KeyObject {
  if (/-----BEGIN|\n/.test(path) || (path.length > 200 && (/^\s*MII/.test(path) || !/[/\\.]/.test(path)))) {
    throw notAPath(platform)
  }
  let bytes: Buffer
  try {
    bytes = readBounded(path)
  } catch (error) {
    if (isBase64Line(path)) throw notAPath(platform)
    throw new Failure('key', `can't read the private key ${path}: ${reasonOf(error)}`, {
      hint: 'check -k: its value is the file of the private key',
      cause: error,
    })
  }
  return parsePrivateKey(bytes, path, passphrase, platform)
}

function readBounded(path: string): Buffer {
  const file = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(LARGEST_KEY)
    let length = 0
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = readSync(file, bytes, length, bytes.length - length, null)
    }
    return bytes.subarray(0, length)
  } finally {
    closeSync(file)
  }
}

const notAPath = (platform: NodeJS.Platform) =>
  new Failure('usage', '--key takes a file name, but this value looks like the key itself', {
    hint:
      platform === 'win32'
        ? 'save the key to a file, then run: softsim next -k softsim.pem'
        : 'save the key to a file, or use in bash: softsim next -k <(printenv KEY) …',
  })

/** Users may also pass one line of a key by mistake. No part of a key is ever printed. */
const isBase64Line = (text: string) =>
  /^[A-Za-z0-9+/]{40,}={0,2}$/.test(text) && [/[A-Z]/, /[a-z]/, /\d/].every((each) => each.test(text))
