import { Failure } from '../failure.ts'

/** One profile may be damaged. If this many in a row do not decrypt, the key is wrong. */
export const LOCKED_IN_A_ROW = 5

export class KeyTrial {
  readonly #consequence: string
  #locked = 0
  #lockedInARow = 0
  #opened = 0

  /** @param consequence what the hint of a failure ends with */
  constructor(consequence = '; nothing was claimed') {
    this.#consequence = consequence
  }

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
    return new Failure('key', `the private key does not decrypt these profiles (${this.#locked} tried)`, {
      hint:
        'use the private key that matches the public key registered with the service when they were fetched' +
        this.#consequence,
    })
  }
}
