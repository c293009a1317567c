/**
 * The unused profiles of a directory, one after the other. A list in a hidden file saves reading a large directory for each
 * call; it may be old, torn or deleted, and only renames decide. Stations may try the same profile, and one of them takes
 * the next.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
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
  #list: FreeList | undefined
  /** The next place in the list. */
  #at = 0
  #found: string[] | undefined
  /** The last reading of the directory. */
  listing: Listing | undefined

  constructor(directory: string) {
    this.#directory = directory
    this.#list = FreeList.open(directory)
    if (this.#list !== undefined) this.#at = this.#list.firstFrom(0)
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
    this.close()
    this.#found = undefined
  }

  close(): void {
    this.#list?.close()
    this.#list = undefined
  }

  #nextListed(): string | undefined {
    const list = this.#list
    if (list === undefined) return undefined
    for (; this.#at < list.length; this.#at = list.firstFrom(this.#at)) {
      const name = list.at(this.#at++)
      if (name === undefined) break
      if (!this.#tried.has(name) && exists(pathIn(this.#directory, name))) return name
    }
    this.close()
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

  /** How many are left at most; undefined if nothing says it. */
  get left(): number | undefined {
    const length = this.#list?.length ?? this.#found?.length
    return length === undefined ? undefined : Math.max(length - this.#at, 0)
  }
}

class FreeList {
  readonly #directory: string
  readonly #file: number
  readonly length: number

  private constructor(directory: string, file: number) {
    this.#directory = directory
    this.#file = file
    this.length = Math.floor(fstatSync(file).size / LINE)
  }

  /** @returns undefined if there is none */
  static open(directory: string): FreeList | undefined {
    try {
      return new FreeList(directory, openSync(pathIn(directory, FREE_LIST), 'r'))
    } catch (error) {
      if (errnoOf(error) === undefined) throw error
      return undefined
    }
  }

  /** @returns undefined if it is not a list */
  at(index: number): string | undefined {
    const line = Buffer.alloc(LINE)
    const length = readSync(this.#file, line, 0, LINE, index * LINE)
    const name = line.toString('latin1', 0, length).trimEnd()
    return iccidOf(name) === undefined ? undefined : name
  }

  /**
   * The first place from `start` on whose profile seems to be unused: steps that double, then halves. All before it are
   * taken, but for some that were skipped or given back; those are found when the directory is read.
   */
  firstFrom(start: number): number {
    let step = 1
    let low = start
    let high = start
    while (high < this.length && !this.#isThere(high)) {
      low = high + 1
      high += step
      step *= 2
    }
    high = Math.min(high, this.length)
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#isThere(middle)) high = middle
      else low = middle + 1
    }
    return low
  }

  #isThere(index: number): boolean {
    const name = this.at(index)
    return name !== undefined && exists(pathIn(this.#directory, name))
  }

  close(): void {
    try {
      closeSync(this.#file)
    } catch (error) {
      if (errnoOf(error) === undefined) throw error
    }
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
