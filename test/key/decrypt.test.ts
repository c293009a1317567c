import { createPrivateKey } from 'node:crypto'
import { expect, inject, test } from 'vitest'
import { adviceOn } from '../../src/advice/advice.ts'
import { Failure } from '../../src/failure.ts'
import { wrongKey } from '../../src/key/decrypt.ts'
import { type PrivateKey, parsePrivateKey } from '../../src/key/private-key.ts'
import { fixedPrivateKey } from '../support/keys.ts'

const { privateKey } = inject('keys')
const RIGHT_KEY = adviceOn(new Failure('other-key')).hint
const hintFor = (key: PrivateKey) => adviceOn(wrongKey(key, 5, true)).hint
const read = (pem: string) => parsePrivateKey(Buffer.from(pem), 'softsim.pem', undefined)

test('a key that fits together belongs to other profiles', () => {
  expect(hintFor(read(privateKey))).toBe(`${RIGHT_KEY}; nothing was claimed`)
})

test('a key whose modulus was changed is damaged', () => {
  const jwk = createPrivateKey(privateKey).export({ format: 'jwk' })
  const n = Buffer.from(jwk.n ?? '', 'base64url')
  n.writeUInt8(n.readUInt8(40) ^ 1, 40)
  const object = createPrivateKey({ key: { ...jwk, n: n.toString('base64url') }, format: 'jwk' })
  const actual = hintFor({ object, inFile: 1 })
  expect(actual).toBe('the private key is damaged: copy it again; nothing was claimed')
})

test('of several keys in a file, only the first is tried', () => {
  const other = fixedPrivateKey().export({ type: 'pkcs1', format: 'pem' })
  const key = read(`${other}${privateKey}`)
  expect(key.object.equals(fixedPrivateKey())).toBe(true)
  const seen = hintFor(key)
  expect(seen).toBe(`only the first of the 2 keys in its file was tried; ${RIGHT_KEY}; nothing was claimed`)
})
