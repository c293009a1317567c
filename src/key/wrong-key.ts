import { Failure } from '../failure.ts'

/** One profile may be damaged. If this many in a row do not decrypt, the key is wrong. */
export const LOCKED_IN_A_ROW = 5

/**
 * @param tried how many profiles the key does not decrypt
 * @param consequence what the hint ends with
 */
export const wrongKey = (tried: number, consequence = '') =>
  new Failure('key', `the private key does not decrypt these profiles (${tried} tried)`, {
    hint: `use the private key that matches the public key registered with the service when they were fetched${consequence}`,
  })

export class WrongKeyCheck {
  #locked = 0
  #lockedInARow = 0
  #opened = 0

  /** @throws {Failure} `key` if too many in a row do not decrypt */
  noteLocked(): void {
    this.#locked++
    this.#lockedInARow++
    if (this.#lockedInARow >= LOCKED_IN_A_ROW) throw this.failure()
  }

  noteOpened(): void {
    this.#opened++
    this.#lockedInARow = 0
  }

  get isRight(): boolean {
    return this.#opened > 0
  }

  get isWrong(): boolean {
    return this.#locked > 0 && this.#opened === 0
  }

  failure(): Failure {
    return wrongKey(this.#locked, '; nothing was claimed')
  }
}
