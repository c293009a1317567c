/**
 * The unused profiles of a directory, one after the other. A list in a hidden file saves reading a large directory for each
 * call; it may be old, torn or deleted, and only renames decide. Stations may try the same profile, and one of them takes
 * the next.
 */
import { readFileSync } from 'node:fs'
import { errnoOf } from '../failure.ts'
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
  readonly #tried = new Set<string>()
  /** What the list says, as long as it lasts. */
  #list: Buffer
  /** What the directory has, afterwards. */
  #found: readonly string[] | undefined
  /** The next place in either. */
  #at: number
  /** The last reading of the directory. */
  listing: Listing | undefined

  constructor(directory: string) {
    this.#directory = directory
    this.#list = readList(directory)
    this.#at = this.#firstFrom(0)
  }

  /**
   * The name of the next unused profile. Others may be first.
   * @returns undefined if all of the directory was tried
   * @throws {Failure} if the directory can't be read
   */
  next(): string | undefined {
    const name = this.#nextListed() ?? this.#nextFound()
    if (name !== undefined) this.#tried.add(name)
    return name
  }

  /** From now on, the directory is read again, and a profile that was tried may be tried again. */
  again(): void {
    this.#tried.clear()
    this.#list = NO_LIST
    this.#found = undefined
  }

  /** How many are left at most; undefined if nothing says it. */
  get left(): number | undefined {
    const length = this.#found?.length ?? this.#listed
    return length === 0 && this.#found === undefined ? undefined : Math.max(length - this.#at, 0)
  }

  #nextListed(): string | undefined {
    for (; this.#at < this.#listed; this.#at = this.#firstFrom(this.#at)) {
      const name = this.#nameAt(this.#at)
      if (this.#isThere(this.#at++)) return name
    }
    this.#list = NO_LIST
    return undefined
  }

  #nextFound(): string | undefined {
    if (this.#found === undefined) {
      this.listing = look(this.#directory)
      writeList(this.#directory, this.listing)
      this.#found = this.listing.unused.filter((name) => !this.#tried.has(name))
      this.#at = 0
    }
    return this.#found[this.#at++]
  }

  get #listed(): number {
    return Math.floor(this.#list.length / LINE)
  }

  #nameAt(index: number): string {
    return this.#list.toString('latin1', index * LINE, (index + 1) * LINE).trimEnd()
  }

  #isThere(index: number): boolean {
    const name = this.#nameAt(index)
    return iccidOf(name) !== undefined && exists(pathIn(this.#directory, name))
  }

  /**
   * The first place in the list from `start` on whose profile seems to be unused: steps that double, then halves. All before
   * it are taken, but for some that were skipped or given back; those are found when the directory is read.
   */
  #firstFrom(start: number): number {
    let step = 1
    let low = start
    let high = start
    while (high < this.#listed && !this.#isThere(high)) {
      low = high + 1
      high += step
      step *= 2
    }
    high = Math.min(high, this.#listed)
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#isThere(middle)) high = middle
      else low = middle + 1
    }
    return low
  }
}

const NO_LIST = Buffer.alloc(0)

function readList(directory: string): Buffer {
  try {
    return readFileSync(pathIn(directory, FREE_LIST))
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return NO_LIST
  }
}

function writeList(directory: string, { unused, used }: Listing): void {
  if (unused.length + used.length < LEAST_LISTED || isOnFat(directory)) return
  const draft = pathIn(directory, `${FREE_LIST}~${newTag()}`)
  try {
    write(draft, unused.map((name) => `${name.padEnd(LINE - 1)}\n`).join(''))
    rename(draft, pathIn(directory, FREE_LIST))
  } catch (error) {
    // It only saves time.
    if (errnoOf(error) === undefined) throw error
  }
}

/**
 * Leaves a list for the next call, which then need not read the directory.
 * @returns how many profiles are unused
 */
export function leaveList(directory: string): number {
  const listing = look(directory)
  writeList(directory, listing)
  return listing.unused.length
}

/** What comes may be lower than all that is listed. */
export function dropList(directory: string): void {
  try {
    remove(pathIn(directory, FREE_LIST))
  } catch (error) {
    // It only saves time.
    if (errnoOf(error) === undefined) throw error
  }
}
