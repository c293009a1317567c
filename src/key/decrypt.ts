import {
  constants,
  createPublicKey,
  type KeyObject,
  privateDecrypt,
  publicEncrypt,
  webcrypto,
} from 'node:crypto'
import { availableParallelism } from 'node:os'
import { Failure, UnusableProfile } from '../failure.ts'
import type { PrivateKey } from './private-key.ts'

/**
 * Decrypts one profile: RSAES-OAEP with SHA-1, MGF1 with SHA-1 and an empty label (RFC 8017 7.1).
 * @throws {UnusableProfile} `locked`
 */
export type Decrypt = (ciphertext: Buffer) => Promise<Buffer>

/** More threads than processors bring no gain. */
const THREADS = availableParallelism()

/** In Node, only one thread at a time can use a key. With spare keys, threads rarely wait for each other. */
const KEYS_A_THREAD = 4

/** A key is slow at its first use: another one for the same thread pays only with so many profiles. */
const PROFILES_A_KEY = 100

export async function decryptor({ object: key }: PrivateKey, count: number): Promise<Decrypt> {
  if (count === 1) {
    return (ciphertext) =>
      orLocked(() =>
        privateDecrypt({ key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha1' }, ciphertext),
      )
  }
  const algorithm = { name: 'RSA-OAEP', hash: 'SHA-1' }
  const pkcs8 = key.export({ type: 'pkcs8', format: 'der' })
  const keys = await Promise.all(
    Array.from({ length: keysFor(count) }, () =>
      webcrypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['decrypt']),
    ),
  )
  let calls = 0
  return (ciphertext) => {
    const own = keys[calls++ % keys.length] as webcrypto.CryptoKey
    return orLocked(async () => Buffer.from(await webcrypto.subtle.decrypt(algorithm, own, ciphertext)))
  }
}

function keysFor(count: number): number {
  const perThread = Math.min(KEYS_A_THREAD, Math.ceil(count / THREADS / PROFILES_A_KEY))
  return Math.min(count, perThread * THREADS)
}

async function orLocked(decrypt: () => Buffer | Promise<Buffer>): Promise<Buffer> {
  try {
    return await decrypt()
  } catch {
    throw new UnusableProfile('locked', 'the private key does not decrypt it')
  }
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

/** @param claims whether the call would have claimed profiles */
export const wrongKeyFacts = ({ object, inFile }: PrivateKey, claims: boolean) =>
  ({ kind: 'wrong-key', isDamaged: isDamaged(object), inFile, claims }) as const

/** @param tried how many profiles the key does not decrypt */
export const wrongKey = (key: PrivateKey, tried: number, claims: boolean) =>
  new Failure(wrongKeyFacts(key, claims), `the private key does not decrypt these profiles (${tried} tried)`)
