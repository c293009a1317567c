import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import type { Limit } from '../service/rate-limit.ts'

/**
 * Sends requests as the rate limit allows: never more at once than the last answer left, and none before the reset
 * once nothing is left.
 */
export class Pace {
  #remaining = 1
  #resumeAt = 0
  #underWay = 0
  #wake = () => {}
  /** Makes waiting requests wait one after another. */
  readonly #queue = pLimit(1)
  readonly #onWait: (ms: number) => void

  constructor(onWait: (ms: number) => void) {
    this.#onWait = onWait
  }

  /** Runs `call` when the rate limit allows it. `call` must report the limit in its answer with `learn`. */
  async run<T>(call: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#queue(() => this.#turn(signal))
    try {
      return await call()
    } finally {
      this.#underWay--
      this.#wake()
    }
  }

  /** Takes over the limit from an answer. It may not count pending requests yet, so they are subtracted. */
  learn({ remaining, waitMs }: Limit, now: number): void {
    this.#remaining = remaining === undefined ? Number.POSITIVE_INFINITY : remaining - this.#underWay + 1
    this.#resumeAt = now + (waitMs ?? 0)
  }

  async #turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    while (this.#remaining < 1) {
      const waitMs = this.#resumeAt - performance.now()
      if (waitMs > 0) {
        this.#onWait(waitMs)
        await sleep(waitMs, undefined, { signal })
      } else if (this.#underWay > 0) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      } else {
        // The limit was reset to an unknown value. Send one request alone to learn it.
        this.#remaining = 1
      }
      signal.throwIfAborted()
    }
    this.#remaining--
    this.#underWay++
  }
}
