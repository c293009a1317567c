import type { Messages } from '../words.ts'
import { settle } from './claim/settle.ts'
import { Hint } from './hint.ts'
import { IccidList } from './iccid-list.ts'
import type { Unused } from './names.ts'
import { readUnused } from './read.ts'

/** This many missing files in a row are not due to another station: the hint is outdated. */
const GONE_IN_A_ROW = 64

/**
 * The unused profiles of a directory by ICCID, in the order in which they are handed out: lowest first among those
 * that the hint lists. It ends only after reading the directory itself.
 */
export class Queue {
  /** The last reading of the directory. */
  found: Unused = { iccids: new IccidList(), notProfiles: [], notProfileCount: 0, twins: [], used: 0 }
  readonly #directory: string
  readonly #messages: Messages
  #hint: Hint | undefined
  /** In what was found, used if no hint can be written or it is at its end. */
  #position = 0
  #hasLooked = false
  #goneSinceLook = 0
  #goneInARow = 0

  constructor(directory: string, messages: Messages) {
    this.#directory = directory
    this.#messages = messages
    this.#hint = Hint.open(directory)
  }

  /** @throws {Failure} `no-profiles` if there is no such directory, `disk` if it can't be read */
  next(count: number): string[] {
    for (;;) {
      const reserved = this.#hint?.reserve(count)
      if (reserved === undefined) this.#dropHint()
      // At the end of the hint, others may have reserved what this call found, and may not take it.
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
    this.#hint?.giveBack()
  }

  /** How many unused profiles are left at most; undefined if neither the hint nor the directory was read. */
  get left(): number | undefined {
    return this.#hint?.left ?? (this.#hasLooked ? this.found.iccids.length - this.#position : undefined)
  }

  #nextFound(count: number): string[] {
    const iccids = this.found.iccids.slice(this.#position, this.#position + count)
    this.#position += iccids.length
    return iccids
  }

  #dropHint(): void {
    this.#hint?.close()
    this.#hint = undefined
  }

  #look(): void {
    this.found = readUnused(this.#directory)
    const { iccids, twins } = this.found
    settle(this.#directory, twins, this.#messages)
    this.#hasLooked = true
    this.#goneSinceLook = 0
    this.#goneInARow = 0
    this.#dropHint()
    this.#hint = Hint.write(this.#directory, iccids) ? Hint.open(this.#directory) : undefined
    this.#position = 0
  }
}

/**
 * Leaves a hint for the next call, which then need not read the directory; none if no profile is unused.
 * @returns how many profiles are unused
 * @throws {Failure} as `readUnused`
 */
export function leaveHint(directory: string, messages: Messages): number {
  const { iccids, twins } = readUnused(directory)
  settle(directory, twins, messages)
  if (iccids.length === 0 || !Hint.write(directory, iccids)) Hint.drop(directory)
  return iccids.length
}
