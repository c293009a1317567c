import { iccidDigits } from '../profile/iccid.ts'

const USED = '__'
const ENDING = '.json'

/** The name a profile's file has while it is unused. */
export const fileName = (iccid: string) => iccid + ENDING

/** The name it gets when it is claimed. */
export const usedName = (name: string) => USED + name

/** The unused profiles of a directory, by the ICCIDs in the names of their files, lowest first. */
export interface Unused {
  readonly iccids: string[]
  /** Names that the rules of the profile directory take for profiles, and that are no ICCIDs. */
  readonly strangers: string[]
  /** Names of unused files whose used twin is there: they count as used. */
  readonly twins: string[]
  /** How many are used. */
  readonly used: number
}

/**
 * How the name of one profile's file may be spelled: as it is given, then the other ways. A filler F may end an ICCID,
 * and whether it does makes no other identity of it.
 */
export function spellings(name: string): string[] {
  const digits = iccidDigits(name.slice(0, -ENDING.length))
  if (digits === undefined) return [name]
  return [name, ...['', 'F', 'f'].map((filler) => fileName(digits + filler)).filter((each) => each !== name)]
}

/**
 * Sorts out the names of a directory. Passed over is what does not end in `.json` or begins with a dot or with
 * `profiles`; a profile whose used twin is there counts as used, in any spelling, and so does all but the first
 * spelling of one profile.
 */
export function unusedOf(names: readonly string[]): Unused {
  const used = new Set<string>()
  const unused = new Map<string, string>()
  const strangers: string[] = []
  for (const name of names) {
    if (!name.endsWith(ENDING) || name.startsWith('.') || name.startsWith('profiles')) continue
    const isUsed = name.startsWith(USED)
    const stem = name.slice(isUsed ? USED.length : 0, -ENDING.length)
    const digits = iccidDigits(stem)
    if (isUsed) used.add(digits ?? stem)
    else if (digits === undefined) strangers.push(name)
    else if (stem <= (unused.get(digits) ?? stem)) unused.set(digits, stem)
  }
  const twins: string[] = []
  for (const digits of used) {
    const stem = unused.get(digits)
    if (stem === undefined) continue
    unused.delete(digits)
    twins.push(fileName(stem))
  }
  return { iccids: [...unused.values()].sort(), strangers: strangers.sort(), twins, used: used.size }
}
