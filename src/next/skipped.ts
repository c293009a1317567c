import { type Failure, UnusableProfile } from '../failure.ts'
import { wrongKey } from '../key/decrypt.ts'
import type { PrivateKey } from '../key/private-key.ts'
import { type Messages, several } from '../words.ts'

/** One profile may be damaged. If so many in a row do not decrypt, the key is wrong. */
export const LOCKED_IN_A_ROW = 5

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

  /** One that can't be read: nobody knows whether it could be used. */
  get unread(): UnusableProfile | undefined {
    return this.#with('unreadable')[0]
  }

  /** The failure that says that the key is wrong; undefined if it may be right. */
  get wrongKey(): Failure | undefined {
    const { length } = this.isRightKey ? [] : this.#with('locked')
    return length > 0 ? wrongKey(this.#key, length) : undefined
  }

  /**
   * Notes why a file is skipped.
   * @throws {Failure} `key` if too many do not decrypt, and none did
   * @throws the error itself if it is not about this one file
   */
  add(name: string, error: unknown): void {
    if (!(error instanceof UnusableProfile)) throw error
    this.#found.set(name, error)
    if (error.fault === 'unfit') this.isRightKey = true
    const isLocked = error.fault === 'locked' && !this.isRightKey
    if (isLocked && this.#with('locked').length >= LOCKED_IN_A_ROW) throw this.wrongKey
  }

  warn(messages: Pick<Messages, 'warn'>): void {
    for (const [name, { message }] of [...this.#found].slice(0, MOST_NAMED))
      messages.warn(`${name} is skipped: ${message}`)
    if (this.count > MOST_NAMED) messages.warn(`${several(this.count - MOST_NAMED, 'more file')} skipped`)
  }

  #with(fault: UnusableProfile['fault']): UnusableProfile[] {
    return [...this.#found.values()].filter((each) => each.fault === fault)
  }
}
