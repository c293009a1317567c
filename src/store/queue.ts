import type { Messages } from '../words.ts'
import { readSettled } from './claim.ts'
import { FreeList } from './free-list.ts'
import { IccidList } from './iccid-list.ts'
import type { Unused } from './names.ts'

/** This many missing files in a row are not due to another station: the free list is outdated. */
const GONE_IN_A_ROW = 64

/**
 * The unused profiles of a directory by ICCID, in the order in which they are handed out: lowest first among those
 * that the free list lists. It ends only after reading the directory itself.
 */
export class Queue {
  /** The last reading of the directory. */
  found: Unused = { iccids: new IccidList(), notProfiles: [], notProfileCount: 0, twins: [], used: 0 }
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
      const reserved = this.#freeList?.reserve(count)
      if (reserved === undefined) this.#dropFreeList()
      // At the end of the free list, others may have reserved what this call found, and may not take it.
      const iccids = reserved?.length ? reserved : this.#nextFound(count)
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
  noteGone(isGone: boolean): void {
    this.#goneInARow = isGone ? this.#goneInARow + 1 : 0
    if (isGone) this.#goneSinceLook++
    if (this.#goneInARow >= GONE_IN_A_ROW) this.#look()
  }

  giveBack(): void {
    this.#freeList?.giveBack()
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

  #dropFreeList(): void {
    this.#freeList?.close()
    this.#freeList = undefined
  }

  #look(): void {
    this.found = readSettled(this.#directory, this.#messages)
    const { iccids } = this.found
    this.#hasLooked = true
    this.#goneSinceLook = 0
    this.#goneInARow = 0
    this.#dropFreeList()
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
