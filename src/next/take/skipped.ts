import type { KeyObject } from 'node:crypto'
import { Failure, remedyFor, UnusableProfile } from '../../failure.ts'
import { WrongKeyCheck } from '../../key/wrong-key.ts'
import { type Messages, several } from '../../words.ts'

/** Another program may be using one file. If this many in a row can't be claimed, the directory is the problem. */
const HELD_IN_A_ROW = 5

const MOST_WARNINGS = 20

/** The files that a call skips: how many, and why. */
export class Skipped {
  readonly key: WrongKeyCheck
  count = 0
  /** How many of them other programs have open. */
  held = 0
  /** The first ones: a million would take too much memory. */
  readonly #warnings: string[] = []
  #more = 0
  #heldInARow = 0

  constructor(key: KeyObject) {
    this.key = new WrongKeyCheck(key)
  }

  /**
   * Records why a file is skipped.
   * @throws {Failure} `key` if too many in a row do not decrypt, `disk` if too many in a row can't be claimed
   * @throws the error itself if it is not about this one file
   */
  add(name: string, error: unknown): void {
    if (!(error instanceof UnusableProfile)) throw error
    this.count++
    this.note(name, error.message)
    if (error.fault === 'held') this.held++
    if (error.fault === 'unfit') this.key.noteOpened()
    if (error.fault === 'locked') this.key.noteLocked()
    if (error.fault === 'held' && ++this.#heldInARow >= HELD_IN_A_ROW) throw notClaimable(name, error)
  }

  noteClaimed(): void {
    this.#heldInARow = 0
  }

  /** Names a file without counting it: nothing is wrong with it, or it is no profile. */
  note(name: string, why: string): void {
    if (this.#warnings.length < MOST_WARNINGS) this.#warnings.push(`${name} is skipped: ${why}`)
    else this.#more++
  }

  /** The same for files that nobody needs to see by name. */
  noteMore(count: number): void {
    this.#more += count
  }

  warn(messages: Messages): void {
    for (const warning of this.#warnings) messages.warn(warning)
    if (this.#more > 0) messages.warn(`${several(this.#more, 'more file')} skipped`)
  }
}

const notClaimable = (name: string, cause: UnusableProfile) =>
  new Failure('disk', `${HELD_IN_A_ROW} profiles in a row can't be claimed; ${name}: ${cause.message}`, {
    hint: `${remedyFor(cause.cause)}; nothing was claimed`,
    cause,
  })
