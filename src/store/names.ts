import { iccidDigits } from '../iccid.ts'

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
}

/**
 * Sorts out the names of a directory. Passed over is what does not end in `.json` or begins with a dot or with
 * `profiles`; a profile whose used twin is there counts as used.
 */
export function unusedOf(names: readonly string[]): Unused {
  const used = new Set<string>()
  const unused: Unused = { iccids: [], strangers: [] }
  for (const name of names) {
    if (!name.endsWith(ENDING) || name.startsWith('.') || name.startsWith('profiles')) continue
    if (name.startsWith(USED)) used.add(name.slice(USED.length, -ENDING.length))
    else if (iccidDigits(name.slice(0, -ENDING.length)) === undefined) unused.strangers.push(name)
    else unused.iccids.push(name.slice(0, -ENDING.length))
  }
  return {
    iccids: unused.iccids.filter((iccid) => !used.has(iccid)).sort(),
    strangers: unused.strangers.sort(),
  }
}
