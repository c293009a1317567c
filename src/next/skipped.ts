import { type Failure, UnusableProfile } from '../failure.ts'
import { wrongKey } from '../key/decrypt.ts'
import type { PrivateKey } from '../key/private-key.ts'
import { type Messages, several } from '../words.ts'

/** One profile may be damaged. If so many in a row do not decrypt, the key is wrong. */
export const LOCKED_IN_A_ROW = 5

const MOST_NAMED = 20

/** The files that a call skips: how many, and why. */
export class Skipped {
  readonly #key: PrivateKey
  /** Why, by name. */
  readonly #named = new Map<string, string>()
  /** How many of them can't be read, and why the last one can't be. */
  unreadable = 0
  unread: UnusableProfile | undefined
  /** Whether the key decrypts any profile. */
  isRightKey = false
  #locked = 0

  constructor(key: PrivateKey) {
    this.#key = key
  }

  noteOpened(): void {
    this.isRightKey = true
  }

  /** The failure that says that the key is wrong; undefined if it may be right. */
  get wrongKey(): Failure | undefined {
    return this.#locked > 0 && !this.isRightKey ? wrongKey(this.#key, this.#locked) : undefined
  }

  /**
   * Notes why a file is skipped.
   * @throws {Failure} `key` if too many do not decrypt, and none did
   * @throws the error itself if it is not about this one file
   */
  add(name: string, error: unknown): void {
    if (!(error instanceof UnusableProfile)) throw error
    if (this.#named.has(name)) return
    this.#named.set(name, error.message)
    if (error.fault === 'unreadable') {
      this.unreadable++
      this.unread = error
    }
    if (error.fault === 'unfit') this.noteOpened()
    if (error.fault === 'locked') this.#locked++
    if (this.#locked >= LOCKED_IN_A_ROW && this.wrongKey !== undefined) throw this.wrongKey
  }

  get count(): number {
    return this.#named.size
  }

  warn(messages: Pick<Messages, 'warn'>): void {
    for (const [name, why] of [...this.#named].slice(0, MOST_NAMED))
      messages.warn(`${name} is skipped: ${why}`)
    if (this.count > MOST_NAMED) messages.warn(`${several(this.count - MOST_NAMED, 'more file')} skipped`)
  }
}
