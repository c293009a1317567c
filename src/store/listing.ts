/** What is in a directory, by its names alone. A list of a directory that is opened for it is fresh, on every file system. */
import { readdirSync } from 'node:fs'
import { diskFailure, errnoOf, Failure } from '../failure.ts'
import { type Held, iccidOf, isUsed, parseAside, parseHeld } from './names.ts'

export interface Listing {
  /** The names of the unused profiles, the lowest ICCID first; each profile once, and none that is used. */
  readonly unused: readonly string[]
  /** X of each used profile, sorted. */
  readonly used: readonly string[]
  readonly held: readonly Held[]
  /** X of each profile that is put aside. */
  readonly aside: readonly string[]
  /** All others, such as foreign ones, drafts, and hidden directories. */
  readonly others: readonly string[]
}

/**
 * What a directory has now.
 * @throws {Failure} `no-profiles` if there is no such directory, `disk` if it can't be read
 */
export function look(directory: string): Listing {
  try {
    return parse(readdirSync(directory))
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw diskFailure(`can't use the directory ${directory}`, error)
    throw new Failure(
      'no-profiles',
      `directory ${directory} does not exist`,
      'check its name and the current directory, and whether its disk or share is there; softsim fetch makes it',
      error,
    )
  }
}

function parse(names: readonly string[]): Listing {
  const [used, aside, others] = [[], [], []] as [string[], string[], string[]]
  const held: Held[] = []
  const unused = new Map<string, string>()
  // A filler F at the end of an ICCID does not make it another profile.
  const known = new Set<string | undefined>()
  for (const name of names) {
    const iccid = iccidOf(name)
    if (iccid === undefined) {
      const [own, put] = [parseHeld(name), parseAside(name)]
      if (own !== undefined) held.push(own)
      else if (put !== undefined) aside.push(put)
      else others.push(name)
      known.add(iccidOf(own?.name ?? put ?? ''))
    } else if (isUsed(name)) {
      used.push(name.slice(2))
      known.add(iccid)
    } else unused.set(name, iccid)
  }
  const free = [...unused.keys()].sort().filter((name) => {
    const isNew = !known.has(unused.get(name))
    known.add(unused.get(name))
    return isNew
  })
  return { unused: free, used: used.sort(), held, aside, others }
}

/** @throws {Failure} if there is no such directory: that does not say that nothing is held */
export const listHeld = (directory: string): readonly Held[] => look(directory).held

/**
 * By their digits, the profiles that are in a directory: unused, used, held or put aside. What is on its way does not count:
 * somebody else may be about to store the same answer.
 */
export function knownIn(directory: string): Set<string> {
  const { unused, used, held, aside } = look(directory)
  const names = [...unused, ...used, ...held.map(({ name }) => name), ...aside]
  return new Set(names.flatMap((name) => iccidOf(name) ?? []))
}
