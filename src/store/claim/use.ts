import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { iccidDigits } from '../../profile/iccid.ts'
import { spellings, usedName } from '../names.ts'
import { readProfile } from '../read.ts'

/** What the names of one profile say, under any spelling. */
export type Use =
  | { readonly state: 'unused'; readonly unused: string }
  /** The unused file, and beside it a used one that is empty or torn: the claim is not complete. */
  | { readonly state: 'begun'; readonly unused: string; readonly used: string }
  /** The used file is whole, or nothing is beside it. */
  | {
      readonly state: 'used'
      readonly used: string
      readonly text: string
      readonly unused: string | undefined
    }
  | { readonly state: 'gone'; readonly unused: undefined }

/**
 * Also a broken link: nothing can be created there.
 * @throws the system error if nobody can tell
 */
export const exists = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined

/**
 * The unused name is looked for first: when it is gone, the used file is complete, and stays.
 * @throws {UnusableProfile} if the used file can't be read
 * @throws the system error
 */
export function useOf(directory: string, name: string): Use {
  const names = spellings(name)
  const unused = names.find((each) => exists(join(directory, each)))
  for (const used of names.map(usedName)) {
    const text = readProfile(directory, used)
    if (text === undefined) continue
    return unused === undefined || isWhole(text, name)
      ? { state: 'used', used, text, unused }
      : { state: 'begun', used, unused }
  }
  return unused === undefined ? { state: 'gone', unused } : { state: 'unused', unused }
}

/** Whether a used file names its profile. */
function isWhole(text: string, name: string): boolean {
  const { iccid, profile } = fieldsOf(text)
  const digits = iccidDigits(String(iccid))
  return typeof profile === 'string' && digits !== undefined && spellings(name).includes(`${digits}.json`)
}

/** The device that a used file or a record names. */
export function deviceIn(text: string): string | undefined {
  const { device } = fieldsOf(text)
  return typeof device === 'string' ? device : undefined
}

/** The fields of a JSON object; none if the text is no such object. */
export function fieldsOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
