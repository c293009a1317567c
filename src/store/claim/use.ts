import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { Failure, reasonOf } from '../../failure.ts'
import { iccidDigits } from '../../profile/iccid.ts'
import { fileName, settledName, spellings, usedName } from '../names.ts'
import { readProfile } from '../read.ts'

/** It becomes a file name, so it is checked. */
const MOVE = /^[0-9a-f-]{36}$/

/** What the names of one profile say, under any spelling. */
export type Use =
  | { readonly state: 'unused'; readonly unused: string }
  /** The unused file, and beside it a used one that is empty or torn: the claim is not complete. */
  | { readonly state: 'begun'; readonly unused: string; readonly used: string }
  /** The used file is complete, or nothing is beside it. */
  | {
      readonly state: 'used'
      readonly used: string
      readonly text: string
      readonly unused: string | undefined
    }
  /** The used file names a move to another directory, which may not be complete. */
  | {
      readonly state: 'moved'
      readonly used: string
      readonly tombstone: Tombstone
      readonly unused: string | undefined
    }
  | { readonly state: 'gone'; readonly unused: undefined }

/** What the used file of a profile says that is moved to another directory. */
export interface Tombstone {
  /** Which move it is. */
  readonly move: string
  /** The path of the other directory. */
  readonly to: string
  /** As it was stored. */
  readonly profile: { readonly iccid: string; readonly profile: string }
}

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
    const tombstone = tombstoneIn(text)
    if (tombstone !== undefined && isOf(tombstone.profile.iccid, name))
      return { state: 'moved', used, tombstone, unused }
    return unused === undefined || isComplete(text, name)
      ? { state: 'used', used, text, unused }
      : { state: 'begun', used, unused }
  }
  return unused === undefined ? { state: 'gone', unused } : { state: 'unused', unused }
}

/** Whether a used file names its profile. */
function isComplete(text: string, name: string): boolean {
  const { iccid, profile } = fieldsOf(text)
  return typeof profile === 'string' && isOf(String(iccid), name)
}

function isOf(iccid: string, name: string): boolean {
  const digits = iccidDigits(iccid)
  return digits !== undefined && spellings(name).includes(fileName(digits))
}

/**
 * Whether another call has taken over the claim of a profile.
 * @throws {Failure} `disk` if nobody can tell
 */
export function isTakenOver(directory: string, name: string): boolean {
  const settled = join(directory, settledName(name))
  try {
    return lstatSync(settled, { throwIfNoEntry: false })?.isDirectory() ?? false
  } catch (error) {
    throw stuck(name, error)
  }
}

export const stuck = (name: string, error: unknown) =>
  new Failure('stuck', `${name} may now count as used but was not printed: ${reasonOf(error)}`, error)

/** The tombstone that a file is. Its fields are not those of a profile, so that version 1.1 calls it damaged. */
export function tombstoneIn(text: string): Tombstone | undefined {
  const { move, to, moved } = fieldsOf(text)
  if (typeof move !== 'string' || !MOVE.test(move) || typeof to !== 'string') return undefined
  const { iccid, profile } = fieldsOf(JSON.stringify(moved ?? null))
  return typeof iccid === 'string' && typeof profile === 'string'
    ? { move, to, profile: { iccid, profile } }
    : undefined
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
