import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { describe, expect, inject, test } from 'vitest'
import { UnusableProfile } from '../../src/failure.ts'
import { decryptor, RIGHT_KEY, wrongKey } from '../../src/key/private-key.ts'
import { encrypt, plainProfile } from '../support/profiles.ts'

const { privateKey, publicKey } = inject('keys')
const key = { object: createPrivateKey(privateKey), name: 'softsim.pem' }
const sealed = (n: number) => Buffer.from(encrypt(plainProfile(n), publicKey), 'base64')

/** What each ciphertext becomes: the text, or the fault. */
async function decryptAll(object: KeyObject, count: number, ciphertexts: Buffer[]) {
  const decrypt = await decryptor({ ...key, object }, count)
  const all = ciphertexts.map((each) =>
    decrypt(each).then(String, (error) => (error instanceof UnusableProfile ? error.fault : error)),
  )
  return Promise.all(all)
}

describe.each([1, 2, 50])('a call for %d', (count) => {
  test('decrypts what belongs to the key, and nothing else', async () => {
    const other = sealed(2)
    // One in 256 has a zero there already: only another byte is another ciphertext.
    other.writeUInt8(other.readUInt8(100) ^ 1, 100)
    const texts = await decryptAll(key.object, count, [
      sealed(1),
      ...[other, Buffer.alloc(0), Buffer.alloc(511, 1), Buffer.alloc(512, 255), Buffer.alloc(9999)],
      sealed(3),
    ])
    const faults = Array(5).fill('locked')
    expect(texts).toEqual([JSON.stringify(plainProfile(1)), ...faults, JSON.stringify(plainProfile(3))])
  })

  test('a key whose modulus is damaged decrypts nothing', async () => {
    const jwk = key.object.export({ format: 'jwk' })
    const n = Buffer.from(jwk.n ?? '', 'base64url')
    n.writeUInt8(n.readUInt8(40) ^ 1, 40)
    const object = createPrivateKey({ key: { ...jwk, n: n.toString('base64url') }, format: 'jwk' })
    expect(await decryptAll(object, count, [sealed(1)])).toEqual(['locked'])
  })

  test('a short key', async () => {
    const { privateKey: short } = generateKeyPairSync('rsa', { modulusLength: 512 })
    expect(await decryptAll(short, count, [sealed(1)])).toEqual(['locked'])
  })
})

test('the failure of a wrong key names its file and how many profiles were tried', () => {
  expect(wrongKey(key, 1).message).toBe('the key softsim.pem does not decrypt the profile')
  expect(wrongKey(key, 5)).toMatchObject({
    outcome: 'key',
    message: 'the key softsim.pem does not decrypt 5 profiles',
    hint: `${RIGHT_KEY}; if only these have another key, move them away: softsim move takes the lowest`,
  })
})
