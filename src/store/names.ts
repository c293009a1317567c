import { iccidDigits } from '../profile/iccid.ts'

const USED = '__'
const ENDING = '.json'

/** The name of an unused profile. */
export const fileName = (iccid: string) => iccid + ENDING

/** The name of a used profile. */
export const usedName = (name: string) => USED + name

/** The unused profiles of a directory, by the ICCIDs in their file names, lowest first. */
export interface Unused {
  readonly iccids: string[]
  /** File names that look like profiles but are not ICCIDs. */
  readonly strangers: string[]
  /** Unused files that have a used twin. They count as used. */
  readonly twins: string[]
  /** Number of used profiles. */
  readonly used: number
}

/**
 * Returns all spellings of a profile's file name, the given one first. An ICCID may end with a filler F, which does
 * not make it a different identity.
 */
export function spellings(name: string): string[] {
  const digits = iccidDigits(name.slice(0, -ENDING.length))
  if (digits === undefined) return [name]
  return [name, ...['', 'F', 'f'].map((filler) => fileName(digits + filler)).filter((each) => each !== name)]
}

/**
 * Sorts the names of a directory. Ignores names that do not end in `.json` or that begin with a dot or with
 * `profiles`. A profile with a used twin counts as used, in any spelling. Of several spellings of one unused profile,
 * only the first counts.
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
