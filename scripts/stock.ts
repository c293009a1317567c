/** A station to hand out profiles at, made up: a private key and a directory of unused profiles. */
import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { plainProfile, storedFile } from '../test/support/profiles.ts'

/**
 * Makes key.pem and profiles/ in a directory.
 * @returns the files in profiles/, name to text
 */
export function stockUp(directory: string, count: number): Map<string, string> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 4096 })
  writeFileSync(join(directory, 'key.pem'), privateKey.export({ type: 'pkcs1', format: 'pem' }))
  const plain = Array.from({ length: count }, (_, n) => plainProfile(n))
  const files = new Map(plain.map((profile) => [`${profile.iccid}.json`, storedFile(profile, publicKey)]))
  fill(join(directory, 'profiles'), files)
  return files
}

/** Makes a directory hold these files and no others. */
export function fill(directory: string, files: Map<string, string>): void {
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory)
  for (const [name, text] of files) writeFileSync(join(directory, name), text)
}
