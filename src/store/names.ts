import { iccidDigits } from '../profile/iccid.ts'
import { IccidList } from './iccid-list.ts'

const USED = '__'
const ENDING = '.json'

export const fileName = (iccid: string) => iccid + ENDING

export const usedName = (name: string) => USED + name

/**
 * The name that decides what becomes of a claim that is not complete: a file while the call that began it releases it, a
 * directory once another call has taken it over.
 */
export const settledName = (name: string) => `.${name.slice(0, -ENDING.length)}.settled`

/** Whether a file of this name is a profile on any system: Windows ignores case, and dots and spaces at the end. */
export const isProfileName = (name: string) =>
  iccidDigits(/^(?:__)?(.*)\.json[. ]*$/i.exec(name)?.[1] ?? '') !== undefined

/** As Windows, macOS and file managers name a copy: `… (1).json`, `… - Copy.json`, `… copy 2.json`. */
const COPY = /^((?:__)?\d+[Ff]?)( ?\(\d+\)| - [^.]+| copy( \d+)?)\.json$/i

/** Why a file does not count, although its name ends as that of a profile. */
export function whyNoProfile(name: string): string {
  const [, original] = COPY.exec(name) ?? []
  return original === undefined
    ? 'its name is not an ICCID and .json'
    : `its name is that of a copy of ${fileName(original)}`
}

export interface Unused {
  /** Lowest first. */
  readonly iccids: IccidList
  /** File names that look like profiles but are not ICCIDs: the first ones, sorted, and how many there are. */
  readonly notProfiles: readonly string[]
  readonly notProfileCount: number
  /** Unused files that have a used twin. They count as used. */
  readonly twins: string[]
  readonly used: number
}

/** Of a million foreign files, nobody wants to see more. */
const MOST_NAMED = 100

export const hasFiller = (name: string) => /[Ff]\.json$/.test(name)

/** The given spelling comes first. A filler F at the end of an ICCID does not make it a different identity. */
export function spellings(name: string): string[] {
  const digits = iccidDigits(name.slice(0, -ENDING.length))
  if (digits === undefined) return [name]
  return [name, ...['', 'F', 'f'].map((filler) => fileName(digits + filler)).filter((each) => each !== name)]
}

/** As a file system or a tool that changes case has written it: a profile that nobody finds. */
const isInCapitals = (name: string) => name.slice(-ENDING.length).toLowerCase() === ENDING

/**
 * Ignores names that do not end in `.json`, in small letters or capitals, or that begin with a dot or with `profiles`. A profile with a used twin
 * counts as used, in any spelling. Of several spellings of one unused profile, only the first counts.
 */
export function unusedOf(names: Iterable<string>): Unused {
  const used = new IccidList()
  const iccids = new IccidList()
  const notProfiles: string[] = []
  let notProfileCount = 0
  for (const name of names) {
    const isProfile = name.endsWith(ENDING)
    if (!(isProfile || isInCapitals(name)) || name.startsWith('.') || name.startsWith('profiles')) continue
    const isUsed = name.startsWith(USED)
    const stem = name.slice(isUsed ? USED.length : 0, -ENDING.length)
    if (isProfile && iccidDigits(stem) !== undefined) (isUsed ? used : iccids).add(stem)
    else if (++notProfileCount <= MOST_NAMED) notProfiles.push(name)
  }
  const twins = iccids.sort().remove(used.sort()).map(fileName)
  return { iccids, notProfiles: notProfiles.sort(), notProfileCount, twins, used: used.length }
}

/** The names of used files, sorted. */
export const usedOf = (names: Iterable<string>) =>
  [...names].filter((name) => name.startsWith(USED) && name.endsWith(ENDING)).sort()
