import { iccidDigits } from '../profile/iccid.ts'

const USED = '__'
const ENDING = '.json'

export const fileName = (iccid: string) => iccid + ENDING

export const usedName = (name: string) => USED + name

/** Lowest ICCID first. */
export interface Unused {
  readonly iccids: string[]
  /** File names that look like profiles but are not ICCIDs. */
  readonly strangers: string[]
  /** Unused files that have a used twin. They count as used. */
  readonly twins: string[]
  readonly used: number
}

/** The given spelling comes first. A filler F at the end of an ICCID does not make it a different identity. */
export function spellings(name: string): string[] {
  const digits = iccidDigits(name.slice(0, -ENDING.length))
  if (digits === undefined) return [name]
  return [name, ...['', 'F', 'f'].map((filler) => fileName(digits + filler)).filter((each) => each !== name)]
}

/**
 * Ignores names that do not end in `.json` or that begin with a dot or with `profiles`. A profile with a used twin
 * counts as used, in any spelling. Of several spellings of one unused profile, only the first counts.
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

/** The names of used files, sorted. */
export const usedOf = (names: readonly string[]) =>
  names.filter((name) => name.startsWith(USED) && name.endsWith(ENDING)).sort()
