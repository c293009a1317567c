import { Failure, UnusableProfile } from '../../failure.ts'
import { KeyTrial } from '../../key/wrong-key.ts'
import { type Messages, several } from '../../words.ts'

/** Another program may be using one file. If this many in a row can't be claimed, the directory is the problem. */
const HELD_IN_A_ROW = 5

const MOST_WARNINGS = 20

export class PassedOver {
  readonly key = new KeyTrial()
  count = 0
  /** The first ones: a million would take too much memory. */
  readonly #warnings: string[] = []
  #heldInARow = 0

  /**
   * Records why a file is skipped.
   * @throws {Failure} `key` if too many in a row do not decrypt, `disk` if too many in a row can't be claimed
   * @throws the error itself if it is not about this one file
   */
  add(name: string, error: unknown): void {
    if (!(error instanceof UnusableProfile)) throw error
    this.count++
    if (this.#warnings.length < MOST_WARNINGS) this.#warnings.push(`${name} is skipped: ${error.message}`)
    if (error.fault === 'unfit') this.key.noteOpened()
    if (error.fault === 'locked') this.key.noteLocked()
    if (error.fault === 'held' && ++this.#heldInARow >= HELD_IN_A_ROW) throw notClaimable(name, error)
  }

  noteClaimed(): void {
    this.#heldInARow = 0
  }

  warn(messages: Messages): void {
    for (const warning of this.#warnings) messages.warn(warning)
    const more = this.count - this.#warnings.length
    if (more > 0) messages.warn(`${several(more, 'more file')} skipped`)
  }
}

const notClaimable = (name: string, cause: UnusableProfile) =>
  new Failure('disk', `${HELD_IN_A_ROW} profiles in a row can't be claimed; ${name}: ${cause.message}`, {
    hint: 'give this user permission to rename files in the directory; nothing was claimed',
    cause,
  })
