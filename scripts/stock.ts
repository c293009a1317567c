/** A station to hand out profiles at, made up: a private key and a directory of unused profiles. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { encrypt, iccid, plainProfile, storedFile } from '../test/support/profiles.ts'

/**
 * Makes key.pem and profiles/ in a directory.
 * @returns the files in profiles/, name to text
 */
export function stockUp(directory: string, count: number): Map<string, string> {
  const { publicKey } = makeKey(join(directory, 'key.pem'))
  const plain = Array.from({ length: count }, (_, n) => plainProfile(n))
  const files = new Map(plain.map((profile) => [`${profile.iccid}.json`, storedFile(profile, publicKey)]))
  fill(join(directory, 'profiles'), files)
  return files
}

/** Makes the file of a private key. The public half is there as the service takes it, too. */
export function makeKey(path: string): { privateKey: KeyObject; publicKey: KeyObject; publicPem: string } {
  const pair = generateKeyPairSync('rsa', { modulusLength: 4096 })
  writeFileSync(path, pair.privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 })
  return { ...pair, publicPem: pair.publicKey.export({ type: 'spki', format: 'pem' }).toString() }
}

/** Makes a directory hold these files and no others. */
export function fill(directory: string, files: Map<string, string>): void {
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory)
  for (const [name, text] of files) writeFileSync(join(directory, name), text)
}

/** The nth file, in the order of the names. */
export type NthFile = (n: number) => { name: string; text: string }

/** Files of profiles that differ in the ICCID alone: a million of them cost one encryption. */
export function alike(publicKey: KeyObject): { nthFile: NthFile; ciphertext: Buffer } {
  const profile = encrypt({ ...plainProfile(0), iccid: undefined }, publicKey)
  return {
    nthFile: (n) => ({ name: `${iccid(n)}.json`, text: JSON.stringify({ iccid: iccid(n), profile }) }),
    ciphertext: Buffer.from(profile, 'base64'),
  }
}
