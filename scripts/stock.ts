/** A station to hand out profiles at, made up: a private key and a directory of unused profiles. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { encrypt, iccid, plainProfile, storedFile } from '../test/support/profiles.ts'

/** Makes key.pem and profiles/ in a directory. */
export function stockUp(directory: string, count: number): void {
  mkdirSync(join(directory, 'profiles'), { recursive: true })
  const { publicKey } = makeKey(join(directory, 'key.pem'))
  for (let n = 0; n < count; n++) {
    const profile = plainProfile(n)
    writeFileSync(join(directory, 'profiles', `${profile.iccid}.json`), storedFile(profile, publicKey))
  }
}

/** Makes the file of a private key. The public half is there as the service takes it, too. */
export function makeKey(path: string): { privateKey: KeyObject; publicKey: KeyObject; publicPem: string } {
  const pair = generateKeyPairSync('rsa', { modulusLength: 4096 })
  writeFileSync(path, pair.privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 })
  return { ...pair, publicPem: pair.publicKey.export({ type: 'spki', format: 'pem' }).toString() }
}

/** Files of profiles that differ in the ICCID alone: a million of them cost one encryption. */
export function alike(publicKey: KeyObject) {
  const profile = encrypt({ ...plainProfile(0), iccid: undefined }, publicKey)
  return {
    /** The nth file, in the order of the names. */
    nthFile: (n: number) => ({
      name: `${iccid(n)}.json`,
      text: JSON.stringify({ iccid: iccid(n), profile }),
    }),
    ciphertext: Buffer.from(profile, 'base64'),
  }
}
