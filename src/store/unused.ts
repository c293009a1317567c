/**
 * The unused profiles of a directory, one after the other. A list in a hidden file saves reading a large directory for each
 * call; it may be old, torn or deleted, and only renames decide. Stations may try the same profile, and one of them takes
 * the next.
 */
import { readFileSync } from 'node:fs'
import { ifPossible } from '../failure.ts'
import { exists, isOnFat, remove, rename, write } from './files.ts'
import { type Listing, look } from './listing.ts'
import { FREE_LIST, iccidOf, newTag, pathIn } from './names.ts'

/** In bytes: the longest name, and a line feed. */
const LINE = 27

/** A directory with fewer names is read as fast as a list. */
const LEAST_LISTED = 1000

/** What one call tries, the lowest first. */
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
    write(draft, unused.map((name) => `${name.padEnd(LINE - 1)}\n`).join(''))
    rename(draft, pathIn(directory, FREE_LIST))
  })
}

/**
 * Leaves a list for the next call, which then need not read the directory.
 * @returns how many profiles are unused
 */
export const leaveList = (directory: string): number => new Unused(directory).again().unused.length

/** What comes may be lower than all that is listed. */
export function dropList(directory: string): void {
  // It only saves time.
  ifPossible(() => remove(pathIn(directory, FREE_LIST)))
}
