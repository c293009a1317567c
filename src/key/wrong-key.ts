import { constants, createPublicKey, type KeyObject, privateDecrypt, publicEncrypt } from 'node:crypto'
import { Failure } from '../failure.ts'
import type { PrivateKey } from './private-key.ts'

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
