import type { ServedProfile } from '../service/answer.ts'
import type { CallFailure } from '../service/call-failure.ts'
import type { TimedAnswer } from '../service/client.ts'
import type { Limit } from '../service/rate-limit.ts'

/** @template Room what `reserve` returns */
export interface Job<Room> {
  readonly count: number
  readonly client: {
    ask(size: number, learn: (limit: Limit) => void, signal: AbortSignal): Promise<TimedAnswer>
  }
  readonly stock: {
    /** Called before each request: makes sure that its profiles can be stored. */
    reserve(size: number): Promise<Room>
    /** Called instead of `keep` if no answer arrives. */
    release(room: Room): void
    /** Stores the profiles of an answer and returns how many of them are new. */
    keep(profiles: readonly ServedProfile[], room: Room): Promise<number>
    /**
     * Puts an answer aside for a person to look at.
     * @param refused how many of its entries can't be used, if it could be read at all
     */
    keepUnread(answer: Uint8Array, refused: number): Promise<void>
  }
  readonly display: {
    onKept(): void
    onWait(ms: number): void
    /**
     * @param ms until the next try
     * @param tries which try that is, and how many there will be
     */
    onRetry(failure: CallFailure, ms: number, tries: string): void
    onRefused(entry: string): void
  }
  /** Aborted: send no more requests; pending ones continue. */
  readonly stop: AbortSignal
  /** Aborted: give up pending requests. */
  readonly abort: AbortSignal
}

export interface Download {
  requests: number
  /** Requests that were sent but whose answer did not arrive completely. */
  broken: number
  /** How many profiles the service may have allocated for them. */
  brokenProfiles: number
  /** Why the download ended early. undefined if it is complete or no more profiles are available. */
  failure: unknown
}
