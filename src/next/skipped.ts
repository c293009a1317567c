/** Which files a call has skipped, and whether that is because of the key. */
import { UnusableProfile } from '../failure.ts'
import { wrongKey } from '../key/decrypt.ts'
import type { PrivateKey } from '../key/private-key.ts'
import { type Messages, several } from '../words.ts'

const MOST_NAMED = 20

/** The files that a call skips, by name, and why. */
export class Skipped {
  readonly #key: PrivateKey
  readonly #found = new Map<string, UnusableProfile>()
  /** Whether the key has decrypted any profile. */
  isRightKey = false

  constructor(key: PrivateKey) {
    this.#key = key
  }

  get count(): number {
    return this.#found.size
  }

  /**
   * Notes why a file is skipped.
   * @throws the error itself if it is not about this one file
   */
  add(name: string, error: unknown): void {
    if (!(error instanceof UnusableProfile)) throw error
    this.#found.set(name, error)
    if (error.fault === 'unfit') this.isRightKey = true
  }

  /** Those with this fault. */
  with(fault: UnusableProfile['fault']): UnusableProfile[] {
    return [...this.#found.values()].filter((each) => each.fault === fault)
  }

  /** @throws {Failure} `key` if it has decrypted nothing, and so many were tried */
  checkKey(least: number): void {
    const { length } = this.with('locked')
    if (this.isRightKey || length < least) return
    // That says it of all of them.
    this.#found.clear()
    throw wrongKey(this.#key, length)
  }

  warn(messages: Pick<Messages, 'warn'>): void {
    for (const [name, { message }] of [...this.#found].slice(0, MOST_NAMED))
      messages.warn(`${name} is skipped: ${message}`)
    if (this.count > MOST_NAMED) messages.warn(`${several(this.count - MOST_NAMED, 'more file')} skipped`)
  }
}
