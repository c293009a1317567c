/** What the names of one profile say: who has it. */
import { join } from 'node:path'
import { UnusableProfile } from '../failure.ts'
import { iccidDigits } from '../profile/iccid.ts'
import { claimsOf } from './create.ts'
import { exists, lookTwice, removeIfThere } from './directory-entries.ts'
import {
  earlierNames,
  fileName,
  keyOfName,
  nextName,
  parseName,
  pathIn,
  spellings,
  usedName,
} from './names.ts'
import { patiently } from './patience.ts'
import { fieldsOf, parseProfile, readProfile, tombstoneIn } from './profile-file.ts'

/** In each, `name` is that of the unused file, whether it is there or not. */
export type Use =
  | { readonly state: 'unused'; readonly name: string }
  /** It is decided whose it is, and the used file is about to come. */
  | { readonly state: 'claimed'; readonly name: string; readonly text: string }
  /** `isTwin`: its unused file is still there, or that of an earlier coming. */
  | { readonly state: 'used'; readonly name: string; readonly text: string; readonly isTwin: boolean }
  /** The used file is empty or torn: an earlier version was killed, or the power failed. Nobody has the profile. */
  | { readonly state: 'torn'; readonly name: string; readonly text: string; readonly isTwin: boolean }
  | { readonly state: 'gone' }

/**
 * Of a profile that came back, the last time counts.
 * @param iccid its digits
 * @throws {UnusableProfile} if the used file can't be read
 * @throws the system error
 */
export function useOf(directory: string, iccid: string): Use {
  let last: Use = { state: 'gone' }
  for (let name = fileName(iccid); ; name = nextName(name)) {
    const use = useAt(directory, name)
    if (use.state === 'gone') return last
    last = use
  }
}

/**
 * The same of one coming of a profile. In this order, because a claim goes this way: what is not claimed yet when it is
 * looked for among the claims, and not used after that, was unused.
 * @param name of the unused file
 */
export const useAt = (directory: string, name: string): Use =>
  lookTwice(
    directory,
    () => lookAt(directory, name),
    ({ state }) => state === 'torn',
  )

function lookAt(directory: string, name: string): Use {
  const names = spellings(name)
  const isThere = (each: string) => exists(join(directory, each))
  const unused = names.find(isThere)
  const [claim] = claimsOf(directory, keyOfName(name))
  for (const each of names) {
    const text = exists(join(directory, usedName(each))) ? readProfile(directory, usedName(each)) : undefined
    if (text === undefined) continue
    const isTwin = unused !== undefined || earlierNames(name).some(isThere)
    if (isComplete(text, each)) return { state: 'used', name: each, text, isTwin }
    if (claim === undefined)
      return { state: 'torn', name: unused ?? each, text, isTwin: unused !== undefined }
  }
  if (claim !== undefined)
    return { state: 'claimed', name: String(fieldsOf(claim.text)['file']), text: claim.text }
  return unused === undefined ? { state: 'gone' } : { state: 'unused', name: unused }
}

/** Whether a used file names its profile. */
function isComplete(text: string, name: string): boolean {
  const { iccid, profile } = tombstoneIn(text)?.profile ?? fieldsOf(text)
  return typeof profile === 'string' && isOf(iccid, name)
}

const isOf = (iccid: unknown, name: string) => iccidDigits(String(iccid)) === parseName(name)?.digits

/**
 * Removes the unused file beside a used one: a killed call left it, or somebody put it back.
 * @throws the system error
 */
export function removeTwin(directory: string, use: Use): void {
  if (use.state !== 'used' || !use.isTwin) return
  const names = [...spellings(use.name), ...earlierNames(use.name)]
  for (const name of names) patiently(() => removeIfThere(join(directory, name)))
}

/** @param text of a file, if there is one */
export const isProfileOf = (text: string | undefined, name: string): boolean =>
  text !== undefined && isOf(parseProfile(text)?.iccid, name)

/** Whether a file holds its profile. One that can't be read counts as stored, so that it is left unchanged. */
export function isStored(directory: string, name: string): boolean {
  if (!exists(pathIn(directory, name))) return false
  try {
    return isProfileOf(readProfile(directory, name), name)
  } catch (error) {
    if (error instanceof UnusableProfile) return true
    throw error
  }
}
