/** What is in a directory, by its names alone: lists are fresh on every file system; and a list of what is unused. */
import { readdirSync, readFileSync } from 'node:fs'
import { diskFailure, errnoOf, Failure, ifPossible } from '../failure.ts'
import { exists, isOnFat, remove, rename, write } from './files.ts'
import { FREE_LIST, type Held, iccidOf, isUsed, newTag, parseAside, parseHeld, pathIn } from './names.ts'

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
      'check its name and the current directory, and whether its disk or share is there; if it is lost, see softsim help restore; if it is new, softsim fetch makes it',
      error,
    )
  }
}

function parse(names: readonly string[]): Listing {
  const [unused, used, aside, others] = [[], [], [], []] as [string[], string[], string[], string[]]
  const held: Held[] = []
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
    } else unused.push(name)
  }
  // A filler F at the end of an ICCID does not make it another profile. Without one, each name is of another.
  const hasFiller = unused.some((name) => /[Ff][.]json$/.test(name))
  const free = unused.sort().filter((name) => {
    const iccid = iccidOf(name)
    const isNew = !known.has(iccid)
    if (hasFiller) known.add(iccid)
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

/** In bytes: the longest name, and a line feed. */
const LINE = 27

/** A directory with fewer names is read as fast as a list. */
const LEAST_LISTED = 1000

/** What one call tries, the lowest first. The list that saves a reading may be old, torn or deleted: only renames decide. */
export class Unused {
  readonly #directory: string
  #names: Iterator<string, undefined>
  /** The last reading of the directory. */
  listing: Listing | undefined

  constructor(directory: string) {
    this.#directory = directory
    this.#names = listed(directory)
  }

  /**
   * The name of the next unused profile. Others may be first.
   * @returns undefined if all of the directory was tried
   * @throws {Failure} if the directory can't be read
   */
  next(): string | undefined {
    const { value } = this.#names.next()
    if (value !== undefined || this.listing !== undefined) return value
    this.again()
    return this.next()
  }

  /** Reads the directory: what was tried may be tried again. */
  again(): Listing {
    this.listing = look(this.#directory)
    writeList(this.#directory, this.listing)
    this.#names = this.listing.unused.values()
    return this.listing
  }
}

/** What the list says, without what seems to be used. */
function* listed(directory: string): Generator<string, undefined> {
  let list = Buffer.alloc(0)
  ifPossible(() => {
    list = readFileSync(pathIn(directory, FREE_LIST))
  })
  const length = Math.floor(list.length / LINE)
  const nameAt = (index: number) => list.toString('latin1', index * LINE, (index + 1) * LINE).trimEnd()
  const isThere = (index: number) =>
    iccidOf(nameAt(index)) !== undefined && exists(pathIn(directory, nameAt(index)))
  for (let at = firstFrom(0, length, isThere); at < length; at = firstFrom(at + 1, length, isThere))
    yield nameAt(at)
}

/**
 * The first place in the list from `start` on whose profile seems to be unused. All before it are taken, but for some that
 * were skipped or given back; those are found when the directory is read.
 * @returns `length` if there is none
 */
function firstFrom(start: number, length: number, isThere: (index: number) => boolean): number {
  let low = start
  let high = length
  // Mostly, it is the first one that is looked at.
  for (let at = start; low < high; at = (low + high) >> 1)
    if (isThere(at)) high = at
    else low = at + 1
  return low
}

function writeList(directory: string, { unused, used }: Listing): void {
  if (unused.length + used.length < LEAST_LISTED || isOnFat(directory)) return
  const draft = pathIn(directory, `${FREE_LIST}~${newTag()}`)
  // It only saves time.
  ifPossible(() => {
    write(draft, `${unused.map((name) => name.padEnd(LINE - 1)).join('\n')}\n`)
    rename(draft, pathIn(directory, FREE_LIST))
  })
}

/**
 * Leaves a list for the next call, which then need not read the directory.
 * @returns how many profiles are unused
 */
export const leaveList = (directory: string): number => new Unused(directory).again().unused.length

/** What comes may be lower than all that is listed. An old list costs time, and no profile. */
export function dropList(directory: string): void {
  ifPossible(() => remove(pathIn(directory, FREE_LIST)))
}
