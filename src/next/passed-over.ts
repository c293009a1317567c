import type { Report } from '../cli/report.ts'
import { Failure } from '../failure.ts'
import { Refusal } from '../profile/open.ts'
import { type HeldFile, UnusableFile } from '../store/read.ts'

/** One profile may be damaged; when as many as this in a row do not open, it is the key. */
export const LOCKED_IN_A_ROW = 5

/** One file may be held by another program; when as many as this in a row can't be claimed, it is the directory. */
const HELD_IN_A_ROW = 5

const MOST_WARNINGS = 20

/** The account of the files that one call passed over. */
export class Refusals {
  readonly #warnings: string[] = []
  #locked = 0
  #lockedInARow = 0
  #heldInARow = 0
  #opened = 0

  /**
   * Notes why a file is passed over.
   * @throws {Failure} `key` when too many in a row do not decrypt
   * @throws the error itself where it is not about the one file
   */
  add(name: string, error: unknown): void {
    if (!(error instanceof Refusal || error instanceof UnusableFile)) throw error
    this.#warnings.push(`${name} is passed over: ${error.message}`)
    const fault = error instanceof Refusal ? error.fault : 'damaged'
    if (fault === 'unfit') this.noteOpened()
    if (fault !== 'locked') return
    this.#locked++
    this.#lockedInARow++
    if (this.#lockedInARow >= LOCKED_IN_A_ROW) throw this.wrongKey()
  }

  /**
   * Notes why a file can't be claimed.
   * @throws {Failure} `disk` when too many in a row can't
   */
  addHeld(name: string, error: HeldFile): void {
    this.add(name, error)
    this.#heldInARow++
    if (this.#heldInARow < HELD_IN_A_ROW) return
    throw new Failure(
      'disk',
      `${HELD_IN_A_ROW} profiles in a row can't be claimed; of ${name}: ${error.message}`,
      {
        hint: 'this user needs the right to rename files in the directory; nothing was claimed',
        cause: error,
      },
    )
  }

  noteClaimed(): void {
    this.#heldInARow = 0
  }

  noteOpened(): void {
    this.#opened++
    this.#lockedInARow = 0
  }

  get count(): number {
    return this.#warnings.length
  }

  get isKeyRight(): boolean {
    return this.#opened > 0
  }

  get isKeyWrong(): boolean {
    return this.#locked > 0 && this.#opened === 0
  }

  wrongKey(): Failure {
    return new Failure('key', `the private key does not open these profiles (${this.#locked} tried)`, {
      hint: 'use the key whose public half the service had when they were fetched; nothing was claimed',
    })
  }

  warn(report: Report): void {
    for (const warning of this.#warnings.slice(0, MOST_WARNINGS)) report.warn(warning)
    const more = this.#warnings.length - MOST_WARNINGS
    if (more > 0) report.warn(`… and ${more} more`)
  }
}
