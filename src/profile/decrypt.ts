import { constants, type KeyObject, privateDecrypt, webcrypto } from 'node:crypto'
import { Refusal } from './open.ts'

/**
 * Decrypts one profile: RSAES-OAEP with SHA-1, MGF1 with SHA-1 and an empty label (RFC 8017 7.1).
 * @throws {Refusal} `locked`
 */
export type Decrypt = (ciphertext: Buffer) => Promise<Buffer>

/** What decrypts `count` profiles: at once where there is one, on all cores where there are more. */
export async function decryptor(key: KeyObject, count: number): Promise<Decrypt> {
  if (count === 1) {
    return (ciphertext) =>
      unlocked(() =>
        privateDecrypt({ key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha1' }, ciphertext),
      )
  }
  const algorithm = { name: 'RSA-OAEP', hash: 'SHA-1' }
  const pkcs8 = key.export({ type: 'pkcs8', format: 'der' })
  const cryptoKey = await webcrypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['decrypt'])
  return (ciphertext) =>
    unlocked(async () => Buffer.from(await webcrypto.subtle.decrypt(algorithm, cryptoKey, ciphertext)))
}

async function unlocked(decrypt: () => Buffer | Promise<Buffer>): Promise<Buffer> {
  try {
    return await decrypt()
  } catch {
    throw new Refusal('locked', 'the private key does not open it')
  }
}
