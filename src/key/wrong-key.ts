import { constants, createPublicKey, type KeyObject, privateDecrypt, publicEncrypt } from 'node:crypto'
import { Failure } from '../failure.ts'

/** One profile may be damaged. If this many in a row do not decrypt, the key is wrong. */
export const LOCKED_IN_A_ROW = 5

export const RIGHT_KEY =
  'use the RSA private key that matches the public key registered with the service when the profiles were fetched'

const keysInFile = new WeakMap<KeyObject, number>()

/** Remembers how many keys the file had that a key is the first one of. */
export function noteKeys(key: KeyObject, pem: string): void {
  keysInFile.set(key, pem.split(/-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/).length - 1)
}

/** What to do with a key that decrypts nothing. */
export function hintFor(key: KeyObject): string {
  if (isDamaged(key)) return 'the private key is damaged: copy it again'
  const count = keysInFile.get(key) ?? 1
  const others = count > 1 ? `only the first of the ${count} keys in its file was tried; ` : ''
  return others + RIGHT_KEY
}

/** OpenSSL reads a key whose numbers do not fit together. Such a key does not even decrypt what it encrypts. */
function isDamaged(key: KeyObject): boolean {
  const padding = constants.RSA_PKCS1_OAEP_PADDING
  const text = Buffer.from('softsim')
  try {
    return !privateDecrypt(
      { key, padding },
      publicEncrypt({ key: createPublicKey(key), padding }, text),
    ).equals(text)
  } catch {
    return true
  }
}

/**
 * @param tried how many profiles the key does not decrypt
 * @param consequence what the hint ends with
 */
export const wrongKey = (key: KeyObject, tried: number, consequence = '') =>
  new Failure('key', `the private key does not decrypt these profiles (${tried} tried)`, {
    hint: `${hintFor(key)}${consequence}`,
  })

export class WrongKeyCheck {
  readonly #key: KeyObject
  #locked = 0
  #lockedInARow = 0
  #opened = 0

  constructor(key: KeyObject) {
    this.#key = key
  }

  /** @throws {Failure} `key` if too many in a row do not decrypt */
  noteLocked(): void {
    this.#locked++
    this.#lockedInARow++
    if (this.#lockedInARow >= LOCKED_IN_A_ROW) throw this.failure()
  }

  noteOpened(): void {
    this.#opened++
    this.#lockedInARow = 0
  }

  get isRight(): boolean {
    return this.#opened > 0
  }

  get isWrong(): boolean {
    return this.#locked > 0 && this.#opened === 0
  }

  failure(): Failure {
    return wrongKey(this.#key, this.#locked, '; nothing was claimed')
  }
}
