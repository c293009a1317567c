import { finishClaims } from './claim.ts'
import { Hint } from './hint.ts'
import { readUnused } from './read.ts'

/** So many files gone one after the other are no other station at work: the hint is outdated. */
const GONE_IN_A_ROW = 64

/**
 * The unused profiles of a directory, by their ICCIDs, in the order in which they are handed out: lowest first among
 * those the hint knows. It does not end before it has looked at the directory itself.
 */
export class Queue {
  /** Files of the directory that are named like profiles, and not like an ICCID, as the last look found them. */
  strangers: readonly string[] = []
  /** How many used profiles it found. */
  used = 0
  /** Names of profiles that a call had begun to claim when it ended; they are used from now on. */
  readonly finished: string[] = []
  readonly #directory: string
  #hint: Hint | undefined
  /** What the last look found, for where there can be no hint. */
  #found: string[] = []
  #hasLooked = false
  #goneSinceLook = 0
  #goneInARow = 0

  constructor(directory: string) {
    this.#directory = directory
    this.#hint = Hint.open(directory)
  }

  /**
   * The next `count` ICCIDs, or fewer; none at the end.
   * @throws {Failure} `no-profiles` where there is no such directory, `disk` where it can't be read
   */
  next(count: number): string[] {
    for (;;) {
      const iccids = this.#hint?.reserve(count) ?? this.#withoutHint(count)
      if (iccids.length > 0) return iccids
      if (this.#hasLooked && this.#goneSinceLook === 0) return []
      this.#look()
    }
  }

  /** Whether there may be as many as `count`: a large number is not worth beginning where there are not. */
  has(count: number): boolean {
    if (count > this.left) this.#look()
    return count <= this.left
  }

  /** Tells that a profile was gone or not: others take profiles, and may have put new ones there. */
  noteGone(isGone: boolean): void {
    this.#goneInARow = isGone ? this.#goneInARow + 1 : 0
    if (isGone) this.#goneSinceLook++
    if (this.#goneInARow >= GONE_IN_A_ROW) this.#look()
  }

  /** Gives back what `next` returned: nothing of it was claimed. */
  giveBack(): void {
    this.#hint?.giveBack()
  }

  /** How many are left behind those that `next` returned. */
  get left(): number {
    return this.#hint?.left ?? this.#found.length
  }

  #withoutHint(count: number): string[] {
    this.#hint?.close()
    this.#hint = undefined
    return this.#found.splice(0, count)
  }

  #look(): void {
    const { iccids, strangers, twins, used } = readUnused(this.#directory)
    this.finished.push(...finishClaims(this.#directory, twins))
    this.#hasLooked = true
    this.#goneSinceLook = 0
    this.#goneInARow = 0
    this.strangers = strangers
    this.used = used
    this.#hint?.close()
    this.#hint = Hint.write(this.#directory, iccids) ? Hint.open(this.#directory) : undefined
    this.#found = iccids
  }
}
