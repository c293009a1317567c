import type { Level, Messages } from '../words.ts'

/**
 * Keeps messages back between the claim and the delivery: writing one can take long, or forever if nobody reads
 * standard error, and the profile must not wait for that.
 */
export class HeldMessages implements Messages {
  readonly #messages: Messages
  #held: (() => void)[] | undefined

  constructor(messages: Messages) {
    this.#messages = messages
  }

  warn(...warning: Parameters<Messages['warn']>): void {
    this.#pass(() => this.#messages.warn(...warning))
  }

  tell(level: Level, text: string): void {
    this.#pass(() => this.#messages.tell(level, text))
  }

  /** From now on, keeps messages back. */
  hold(): void {
    this.#held ??= []
  }

  /** Prints what was kept back, in its order, and from now on every message at once. */
  release(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const print of held) print()
  }

  #pass(print: () => void): void {
    if (this.#held === undefined) print()
    else this.#held.push(print)
  }
}
