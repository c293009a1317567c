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
  #names: Iterator<string, undefined>
  /** The last reading of the directory. */
  listing: Listing | undefined

  constructor(directory: string) {
    this.#directory = directory
    this.#names = this.#listedFirst()
  }

  /**
   * The name of the next unused profile. Others may be first.
   * @returns undefined if all of the directory was tried
   * @throws {Failure} if the directory can't be read
   */
  next(): string | undefined {
    return this.#names.next().value
  }

  /** From now on, the directory is read again, and a profile that was tried may be tried again. */
  again(): void {
    this.#names = this.#found(new Set())
  }

  *#listedFirst(): Generator<string, undefined> {
    const tried = new Set<string>()
    for (const name of listed(this.#directory)) {
      tried.add(name)
      yield name
    }
    yield* this.#found(tried)
  }

  *#found(tried: ReadonlySet<string>): Generator<string, undefined> {
    this.listing = look(this.#directory)
    writeList(this.#directory, this.listing)
    for (const name of this.listing.unused) if (!tried.has(name)) yield name
  }
}

/** What the list says, without what seems to be used. */
function* listed(directory: string): Generator<string> {
  const list = readList(directory)
  const length = Math.floor(list.length / LINE)
  const nameAt = (index: number) => list.toString('latin1', index * LINE, (index + 1) * LINE).trimEnd()
  const isThere = (index: number) =>
    iccidOf(nameAt(index)) !== undefined && exists(pathIn(directory, nameAt(index)))
  for (let at = firstFrom(0, length, isThere); at < length; at = firstFrom(at + 1, length, isThere))
    yield nameAt(at)
}

/**
 * The first place in the list from `start` on whose profile seems to be unused: steps that double, then halves. All before
 * it are taken, but for some that were skipped or given back; those are found when the directory is read.
 * @returns `length` if there is none
 */
function firstFrom(start: number, length: number, isThere: (index: number) => boolean): number {
  let step = 1
  let low = start
  let high = start
  while (high < length && !isThere(high)) {
    low = high + 1
    high += step
    step *= 2
  }
  high = Math.min(high, length)
  while (low < high) {
    const middle = (low + high) >> 1
    if (isThere(middle)) high = middle
    else low = middle + 1
  }
  return low
}

function readList(directory: string): Buffer {
  try {
    return readFileSync(pathIn(directory, FREE_LIST))
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return Buffer.alloc(0)
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
