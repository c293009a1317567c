/** RSA-OAEP: what a profile is encrypted with. */
import { constants, privateDecrypt, webcrypto } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { Failure, reasonOf, UnusableProfile } from '../failure.ts'
import { type PrivateKey, RIGHT_KEY } from './private-key.ts'

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

/**
 * The failure of a key that decrypts nothing.
 * @param count how many profiles were tried
 */
export function wrongKey({ name }: PrivateKey, count: number): Failure {
  const what = count === 1 ? 'the profile' : `any of ${count} profiles`
  return new Failure('key', `the key ${name} does not decrypt ${what}`, RIGHT_KEY)
}
