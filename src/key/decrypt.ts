import { constants, type KeyObject, privateDecrypt, webcrypto } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { UnusableProfile } from '../failure.ts'

/**
 * Decrypts one profile: RSAES-OAEP with SHA-1, MGF1 with SHA-1 and an empty label (RFC 8017 7.1).
 * @throws {UnusableProfile} `locked`
 */
export type Decrypt = (ciphertext: Buffer) => Promise<Buffer>

/** Each thread needs its own prepared key, and more threads than processors bring no gain. */
export const THREADS = availableParallelism()

export async function decryptor(key: KeyObject, count: number): Promise<Decrypt> {
  if (count === 1) {
    return (ciphertext) =>
      unlocked(() =>
        privateDecrypt({ key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha1' }, ciphertext),
      )
  }
  const algorithm = { name: 'RSA-OAEP', hash: 'SHA-1' }
  const pkcs8 = key.export({ type: 'pkcs8', format: 'der' })
  // In Node, only one thread at a time can use a key, so each thread gets its own.
  const keys = await Promise.all(
    Array.from({ length: Math.min(count, THREADS) }, () =>
      webcrypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['decrypt']),
    ),
  )
  let turn = 0
  return (ciphertext) => {
    const own = keys[turn++ % keys.length] as webcrypto.CryptoKey
    return unlocked(async () => Buffer.from(await webcrypto.subtle.decrypt(algorithm, own, ciphertext)))
  }
}

async function unlocked(decrypt: () => Buffer | Promise<Buffer>): Promise<Buffer> {
  try {
    return await decrypt()
  } catch {
    throw new UnusableProfile('locked', 'the private key does not decrypt it')
  }
}
