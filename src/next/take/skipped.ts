import { Failure, UnusableProfile } from '../../failure.ts'
import type { PrivateKey } from '../../key/private-key.ts'
import { wrongKey } from '../../key/wrong-key.ts'
import { type Messages, several } from '../../words.ts'

/** Another program may be using one file. If this many in a row can't be claimed, the directory is the problem. */
const HELD_IN_A_ROW = 5

/** One profile may be damaged. If this many in a row do not decrypt, the key is wrong. */
export const LOCKED_IN_A_ROW = 5

const MOST_WARNINGS = 20

/** The files that a call skips: how many, and why. */
export class Skipped {
  readonly #key: PrivateKey
  count = 0
  /** How many of them other programs have open. */
  held = 0
  /** How many of them can't be read, and why the last one can't be. */
  unreadable = 0
  unread: UnusableProfile | undefined
  /** Whether the key decrypts any profile. */
  isRightKey = false
  /** The first ones: a million would take too much memory. */
  readonly #warnings: string[] = []
  #more = 0
  #heldInARow = 0
  #locked = 0
  #lockedInARow = 0

  constructor(key: PrivateKey) {
    this.#key = key
  }

  noteOpened(): void {
    this.isRightKey = true
    this.#lockedInARow = 0
  }

  /** undefined if the key may be right. */
  get wrongKey(): Failure | undefined {
    return this.#locked > 0 && !this.isRightKey ? wrongKey(this.#key, this.#locked, true) : undefined
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
    if (error.fault === 'unreadable') {
      this.unreadable++
      this.unread = error
    }
    if (error.fault === 'unfit') this.noteOpened()
    if (error.fault === 'locked') this.#locked++
    if (error.fault === 'locked' && ++this.#lockedInARow >= LOCKED_IN_A_ROW)
      throw wrongKey(this.#key, this.#locked, true)
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
  new Failure(
    'not-claimed',
    `${HELD_IN_A_ROW} profiles in a row can't be claimed; ${name}: ${cause.message}`,
    cause,
  )
