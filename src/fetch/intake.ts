import { Failure, reasonOf } from '../failure.ts'
import { add, nothingAdded } from '../store/incoming/add.ts'
import { checkSpaceForBatch } from '../store/incoming/free-space.ts'
import { putAsideUnread, removeAnswer, reserve, type Target } from '../store/incoming/target-directory.ts'
import type { StoredProfile } from '../store/profile-file.ts'
import type { Messages } from '../words.ts'

/**
 * Takes in what the service sends: makes room for it, stores it, and counts. It knows nothing of the network, so that the
 * schedules (scripts/torture/schedule) can run it alone.
 */
export class Intake {
  /** How many profiles of the answers are where. */
  readonly tally = {
    /** New, and stored under their names in the directory. */
    stored: 0,
    known: 0,
    /** Put aside; the next call stores them. */
    putAside: 0,
    /** Not on any disk. */
    lost: 0,
    /** Entries of answers that are not profiles. */
    refused: 0,
  }
  readonly #target: Target
  readonly #messages: Messages

  constructor(target: Target, messages: Messages) {
    this.#target = target
    this.#messages = messages
  }

  /**
   * Makes sure that so many profiles can be stored.
   * @returns the name of the reserve
   * @throws {Failure} `disk`
   */
  async reserve(size: number): Promise<string> {
    checkSpaceForBatch(this.#target, size)
    return reserve(this.#target, size)
  }

  /** Gives up a reserve for which no answer has arrived. */
  release(reserve: string): void {
    removeAnswer(this.#target, reserve)
  }

  /**
   * Puts the profiles of an answer aside durably, then publishes them.
   * @returns how many of them are new
   * @throws {Failure} `lost` or `put-aside`
   */
  async keep(profiles: readonly StoredProfile[], reserve: string): Promise<number> {
    const added = nothingAdded()
    try {
      await add(this.#target, reserve, profiles, added)
    } catch (error) {
      const isLost = error instanceof Failure && error.facts.kind === 'lost'
      this.tally[isLost ? 'lost' : 'putAside'] += profiles.length - added.stored.length - added.known.length
      // Each failure is reported here. If several happen at once, the final message names only one.
      this.#messages.warn(reasonOf(error))
      throw error
    } finally {
      this.tally.stored += added.stored.length
      this.tally.known += added.known.length
    }
    for (const iccid of added.stored) this.#messages.tell(2, `${iccid} is stored`)
    for (const iccid of added.known)
      this.#messages.tell(2, `${iccid} is already in ${this.#target.directory}`)
    return added.stored.length
  }

  /**
   * Keeps an answer that could not be read, or not all of it, as well as the disk can, for a person to look at.
   * @param refused how many of its entries can't be used, if it could be read at all
   */
  async keepUnread(answer: Uint8Array, refused: number): Promise<void> {
    this.tally.refused += refused
    try {
      this.#messages.warn(`the answer is put aside in ${await putAsideUnread(this.#target, answer)}`)
    } catch (error) {
      this.#messages.warn(`the answer can't be put aside: ${reasonOf(error)}`)
    }
  }
}

export type Tally = Readonly<Intake['tally']>
