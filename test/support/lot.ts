/** A directory of profiles for the tests of the store: nothing in it is encrypted. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDirectory } from './directory.ts'
import { iccid } from './profiles.ts'

export const profile = (n: number) => ({ iccid: iccid(n), profile: 'QUJD' })

/** X of the nth profile. */
export const X = (n: number) => `${iccid(n)}.json`

/** A new directory with the first `count` profiles. */
export function lot(count: number, root?: 'disk'): string {
  const directory = temporaryDirectory(root)
  for (let n = 1; n <= count; n++) put(directory, n)
  return directory
}

export const put = (directory: string, n: number, name = X(n), fields: object = {}): void =>
  writeFileSync(join(directory, name), JSON.stringify({ ...profile(n), ...fields }))

/** All names but the hidden directories that stay, with the numbers of profiles in place of their ICCIDs. */
export const names = (directory: string): string[] =>
  readdirSync(directory)
    .filter((name) => !/^\.(claims|devices|incoming|outgoing|identity)$/.test(name))
    .sort()

export const fieldsIn = (directory: string, name: string) =>
  JSON.parse(readFileSync(join(directory, name), 'utf8'))

/** Who claims. */
export const BY = { station: 'A', claimed: '2026-11-26T10:00:00.000Z' }

/** Messages that are kept. */
export function messages() {
  const said: string[] = []
  return {
    said,
    warn: (text: string) => void said.push(text),
    tell: (_: number, text: string) => void said.push(text),
  }
}
