import { reasonOf } from '../failure.ts'
import type { ServedProfile } from '../service/answer.ts'
import { add, NotAdded } from '../store/incoming/add.ts'
import { release, reserve } from '../store/incoming/reserve.ts'
import { checkOrder, checkRoom, type Target } from '../store/incoming/target.ts'
import { putAsideUnread } from '../store/incoming/unread.ts'
import type { Messages } from '../words.ts'
import { NO_PROFILES, noteAdded, noteNotAdded, type Tally } from './tally.ts'

export class Stock {
  readonly tally: Tally = { ...NO_PROFILES }
  readonly #target: Target
  readonly #messages: Messages

  constructor(target: Target, messages: Messages) {
    this.#target = target
    this.#messages = messages
  }

  /** @throws {Failure} `disk` if there can't be room for so many profiles */
  checkOrder(count: number): void {
    checkOrder(this.#target, count)
  }

  /**
   * @returns the name of the reserve
   * @throws {Failure} `disk`
   */
  async reserve(size: number): Promise<string> {
    checkRoom(this.#target, size)
    return reserve(this.#target, size)
  }

  release(room: string): void {
    release(this.#target, room)
  }

  /**
   * Puts the profiles of an answer aside durably, then publishes them.
   * @returns how many of them are new
   * @throws {NotAdded}
   */
  async keep(profiles: readonly ServedProfile[], room: string): Promise<number> {
    try {
      const added = await add(this.#target, profiles, room)
      noteAdded(this.tally, added)
      for (const iccid of added.stored) this.#messages.tell(2, `${iccid} is stored`)
      for (const iccid of added.known)
        this.#messages.tell(2, `${iccid} is already in ${this.#target.directory}`)
      return added.stored.length
    } catch (error) {
      if (error instanceof NotAdded) noteNotAdded(this.tally, error)
      // Each failure is reported here. If several happen at once, the final message names only one.
      this.#messages.warn(reasonOf(error))
      throw error
    }
  }

  /** Keeps an answer that could not be read, or not all of it, as well as the disk can. */
  async keepUnread(answer: Uint8Array, refused: number): Promise<void> {
    this.tally.refused += refused
    try {
      this.#messages.warn(`the answer is put aside in ${await putAsideUnread(this.#target, answer)}`)
    } catch (error) {
      this.#messages.warn(`the answer can't be put aside: ${reasonOf(error)}`)
    }
  }
}
