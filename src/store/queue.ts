/**
 * The unused profiles of a directory, in the order in which they are handed out. A hidden file, the free list, has a list of
 * them and a position in it, so that a call need not read the whole directory. Only file names are authoritative: the free
 * list may be deleted, torn, outdated or written by two stations at once. In the worst case, a call reads the directory once.
 */
import {
  chmodSync,
  closeSync,
  constants,
  openSync,
  readSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Messages } from '../words.ts'
import { readSettled } from './claim.ts'
import { fileRights, removeIfThere, rightsOf, tryToRemove } from './directory-entries.ts'
import type { Unused } from './listing.ts'
import { fileName, parseName } from './names.ts'
import { attempt, patiently } from './patience.ts'

/** This many missing files in a row are not due to another station: the free list is outdated. */
const GONE_IN_A_ROW = 64

/**
 * The unused profiles of a directory by ICCID, in the order in which they are handed out: lowest first among those
 * that the free list lists. It ends only after reading the directory itself.
 */
export class Queue {
  /** The last reading of the directory. */
  found: Unused = { iccids: [], notProfiles: [], notProfileCount: 0, twins: [], used: 0 }
  readonly #directory: string
  readonly #messages: Messages
  #freeList: FreeList | undefined
  /** In what was found, used if no free list can be written or it is at its end. */
  #position = 0
  #hasLooked = false
  #goneSinceLook = 0
  #goneInARow = 0

  constructor(directory: string, messages: Messages) {
    this.#directory = directory
    this.#messages = messages
    this.#freeList = FreeList.open(directory)
  }

  /** @throws {Failure} `no-profiles` if there is no such directory, `disk` if it can't be read */
  next(count: number): string[] {
    for (;;) {
      const reserved = this.#freeList?.reserve(count) ?? []
      // At the end of the free list, others may have reserved what this call found, and may not take it.
      const iccids = reserved.length > 0 ? reserved : this.#nextFound(count)
      if (iccids.length > 0) return iccids
      if (this.#hasLooked && this.#goneSinceLook === 0) return []
      this.#look()
    }
  }

  /** Whether `count` profiles may be left. If not, a large request need not begin. */
  has(count: number): boolean {
    if (this.left !== undefined && count <= this.left) return true
    this.#look()
    return count <= this.found.iccids.length
  }

  /** Records whether a file was missing: other stations take profiles, and may have added new ones. */
  noteTaken(isTaken: boolean): void {
    this.#goneInARow = isTaken ? this.#goneInARow + 1 : 0
    if (isTaken) this.#goneSinceLook++
    if (this.#goneInARow >= GONE_IN_A_ROW) this.#look()
  }

  unreserve(): void {
    this.#freeList?.unreserve()
  }

  /** How many unused profiles are left at most; undefined if neither the free list nor the directory was read. */
  get left(): number | undefined {
    return this.#freeList?.left ?? (this.#hasLooked ? this.found.iccids.length - this.#position : undefined)
  }

  #nextFound(count: number): string[] {
    const iccids = this.found.iccids.slice(this.#position, this.#position + count)
    this.#position += iccids.length
    return iccids
  }

  #look(): void {
    this.found = readSettled(this.#directory, this.#messages)
    const { iccids } = this.found
    this.#hasLooked = true
    this.#goneSinceLook = 0
    this.#goneInARow = 0
    this.#freeList?.close()
    this.#freeList = FreeList.write(this.#directory, iccids) ? FreeList.open(this.#directory) : undefined
    this.#position = 0
  }
}

/**
 * Leaves a free list for the next call, which then need not read the directory; none if no profile is unused.
 * @returns how many profiles are unused
 * @throws {Failure} as `readUnused`
 */
export function leaveFreeList(directory: string, messages: Messages): number {
  const { iccids } = readSettled(directory, messages)
  if (iccids.length === 0 || !FreeList.write(directory, iccids)) FreeList.drop(directory)
  return iccids.length
}

const FREE_LIST = '.unused'

/** Padded with blanks: the magic, the number of profiles, the position in the list, the ICCIDs. */
const LINE = 24
const MAGIC = 'softsim unused 1'
const POSITION_LINE = 2
const LIST_LINE = 3

const LINES_AT_ONCE = 4096

const linesOf = (texts: readonly (string | number)[]) =>
  texts.map((text) => `${String(text).padEnd(LINE - 1)}\n`).join('')

export class FreeList {
  readonly #file: number
  readonly #size: number
  #reserved: { from: number; to: number } | undefined

  private constructor(file: number, size: number) {
    this.#file = file
    this.#size = size
  }

  /** @returns undefined if the directory has no usable free list */
  static open(directory: string): FreeList | undefined {
    return attempt(() => {
      const file = openSync(join(directory, FREE_LIST), constants.O_RDWR | (constants.O_NOFOLLOW ?? 0))
      const [magic, size] = readLines(file, 0, 2)
      if (magic === MAGIC && isNumber(size)) return new FreeList(file, Number(size))
      closeSync(file)
      return undefined
    })
  }

  /** @returns false if the free list can't be written */
  static write(directory: string, iccids: readonly string[]): boolean {
    const temporary = join(directory, `${FREE_LIST}~${process.pid}`)
    try {
      const file = openSync(temporary, 'wx', 0o600)
      try {
        writeFileSync(file, linesOf([MAGIC, iccids.length, 0]))
        // A million lines in one piece would take too much memory.
        for (let at = 0; at < iccids.length; at += LINES_AT_ONCE)
          writeFileSync(file, linesOf(iccids.slice(at, at + LINES_AT_ONCE)))
      } finally {
        closeSync(file)
      }
      // Independent of the umask, because stations of other users share the free list.
      chmodSync(temporary, fileRights(rightsOf(directory)))
      patiently(() => renameSync(temporary, join(directory, FREE_LIST)))
      return true
    } catch {
      tryToRemove(temporary)
      return false
    }
  }

  /** Removes the free list after profiles were added. The next call then reads the whole directory. */
  static drop(directory: string): void {
    attempt(() => removeIfThere(join(directory, FREE_LIST)))
  }

  /**
   * Reserves the next `count` ICCIDs for this call, or fewer at the end. Other stations continue after them.
   * @returns none at the end, or if the position can't be written
   */
  reserve(count: number): string[] {
    const from = this.#position
    const to = Math.min(from + count, this.#size)
    if (from >= to || !this.#move(to)) return []
    this.#reserved = { from: this.#reserved?.from ?? from, to }
    return readLines(this.#file, LIST_LINE + from, to - from).filter(
      (text) => parseName(fileName(text)) !== undefined,
    )
  }

  /** Returns the reserved ICCIDs, unless another call has already continued after them. */
  unreserve(): void {
    if (this.#reserved !== undefined && this.#position === this.#reserved.to) this.#move(this.#reserved.from)
  }

  get left(): number {
    return this.#size - this.#position
  }

  /** Over NFS, this fails if another station has replaced the free list. Nothing depends on it. */
  close(): void {
    attempt(() => closeSync(this.#file))
  }

  get #position(): number {
    const [position] = readLines(this.#file, POSITION_LINE, 1)
    return isNumber(position) ? Math.min(Number(position), this.#size) : this.#size
  }

  /** One small write, so that no station reads half of it. */
  #move(position: number): boolean {
    return attempt(() => writeSync(this.#file, linesOf([position]), POSITION_LINE * LINE)) === LINE
  }
}

const isNumber = (text: string | undefined): text is string => text !== undefined && /^\d{1,9}$/.test(text)

const readLines = (file: number, at: number, count: number): string[] =>
  attempt(() => {
    const bytes = Buffer.alloc(count * LINE)
    const length = readSync(file, bytes, 0, bytes.length, at * LINE)
    return Array.from({ length: Math.floor(length / LINE) }, (_, index) =>
      bytes.toString('latin1', index * LINE, (index + 1) * LINE).trim(),
    )
  }) ?? []
