/** Where one profile is. It is in one place: unused, used, held, or put aside; otherwise it is gone, or on its way. */
import { UnusableProfile } from '../failure.ts'
import { exists, readText, withScratch } from './files.ts'
import { look } from './listing.ts'
import { type Held, iccidOf, nameOf, parseUsed, pathIn, type Used, usedName } from './names.ts'

/** `name` is X. */
export type State =
  | { readonly state: 'unused' | 'aside'; readonly name: string }
  | { readonly state: 'used'; readonly name: string; readonly used: Used; readonly text: string }
  | { readonly state: 'held'; readonly name: string; readonly held: Held }
  | { readonly state: 'gone' }

/**
 * The one function that says where a profile is. A used file counts before an unused one, which is rubbish beside it.
 * @param iccid without a filler
 * @throws {UnusableProfile} if its used file is no profile, or can't be read
 * @throws {Failure} if it is in none of them, and the directory itself is gone
 */
export function stateOf(directory: string, iccid: string): State {
  const seen = lookAt(directory, iccid)
  if (seen !== undefined) return seen
  const { unused, used, held, aside } = look(directory)
  const isOwn = (name: string) => iccidOf(name) === iccid
  const own = held.find(({ name }) => isOwn(name))
  if (own !== undefined) return { state: 'held', name: own.name, held: own }
  const put = aside.find(isOwn)
  if (put !== undefined) return { state: 'aside', name: put }
  if (![...unused, ...used].some(isOwn)) return { state: 'gone' }
  // The look was older than the list.
  refresh(directory)
  return lookAt(directory, iccid) ?? { state: 'gone' }
}

/** A filler F does not make it another profile. */
function lookAt(directory: string, iccid: string): State | undefined {
  const names = ['', 'F', 'f'].map((filler) => nameOf(iccid + filler))
  for (const name of names) {
    const text = readText(pathIn(directory, usedName(name)))
    if (text === undefined) continue
    const used = parseUsed(text)
    if (used === undefined) throw new UnusableProfile('damaged', 'its used file is no profile')
    return { state: 'used', name, used, text }
  }
  const unused = names.find((name) => exists(pathIn(directory, name)))
  return unused === undefined ? undefined : { state: 'unused', name: unused }
}

/** On NFS, a look is fresh after a step of this client in the directory: it makes and removes a file. */
export const refresh = (directory: string): void => withScratch(directory, () => {})

/**
 * Reads a file that says who uses a profile, or who may.
 * @returns why nothing can be read from it, if that is so
 */
export function readUsed(directory: string, file: string): Used | string {
  try {
    return parseUsed(readText(pathIn(directory, file))) ?? 'it is no profile'
  } catch (error) {
    if (error instanceof UnusableProfile) return error.message
    throw error
  }
}
