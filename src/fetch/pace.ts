import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import type { Limit } from '../service/rate-limit.ts'

/**
 * Lets calls go out as the rate limit allows: never more at once than the last answer said are left, and none
 * before the reset once there are none.
 */
export class Pace {
  #remaining = 1
  #resumeAt = 0
  #underWay = 0
  #wake = () => {}
  /** Calls that wait do so one behind the other. */
  readonly #queue = pLimit(1)
  readonly #onWait: (ms: number) => void

  /** @param onWait is told of every wait before it begins */
  constructor(onWait: (ms: number) => void) {
    this.#onWait = onWait
  }

  /** Runs a call when it may be sent. The call must tell what its answer says with `learn`. */
  async run<T>(call: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#queue(() => this.#turn(signal))
    try {
      return await call()
    } finally {
      this.#underWay--
      this.#wake()
    }
  }

  /** Takes in what an answer says. Calls still under way may not be in its count, so they are taken off it. */
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
        // The limit has been reset and nobody knows to what: one call goes alone to find out.
        this.#remaining = 1
      }
      signal.throwIfAborted()
    }
    this.#remaining--
    this.#underWay++
  }
}
