import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'
import { type PlainProfile, plainProfile, storedFile } from './profiles.ts'

/** A new empty directory; it is removed after all tests. */
export const temporaryDirectory = (root: 'root' | 'disk' = 'root') =>
  mkdtempSync(join(inject(root), 'directory-'))

/** A new directory with these profiles, unused, as `fetch` leaves them; encrypted for the key all tests share. */
export function directoryOf(profiles: readonly PlainProfile[]): string {
  const directory = join(temporaryDirectory(), 'profiles')
  mkdirSync(directory, { mode: 0o700 })
  for (const profile of profiles) addProfile(directory, profile)
  return directory
}

/** The first `count` profiles, in the order of their ICCIDs. */
export const someProfiles = (count: number, digits?: 19 | 20) =>
  Array.from({ length: count }, (_, n) => plainProfile(n + 1, digits))

/** Puts a profile into a directory; `changes` replaces some of what is encrypted in it. */
export function addProfile(directory: string, profile: PlainProfile, changes: object = {}): string {
  const { iccid } = profile
  const name = `${iccid}.json`
  const text = storedFile({ ...profile, ...changes, iccid }, inject('keys').publicKey)
  writeFileSync(join(directory, name), text, { mode: 0o600 })
  return name
}

/** What a user sees in a directory, sorted: the files whose names do not begin with a dot. None if it is not there. */
export const namesIn = (directory: string) =>
  (existsSync(directory) ? readdirSync(directory) : []).filter((name) => !name.startsWith('.')).sort()

/** The names of the profiles in a directory that are used, or those that are not. */
export const usedIn = (directory: string) => namesIn(directory).filter((name) => name.startsWith('__'))
export const unusedIn = (directory: string) => namesIn(directory).filter((name) => !name.startsWith('__'))
