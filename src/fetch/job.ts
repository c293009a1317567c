import type { ServedProfile } from '../service/answer.ts'
import type { CallFailure } from '../service/call-failure.ts'
import type { TimedAnswer } from '../service/client.ts'
import type { Limit } from '../service/rate-limit.ts'

/**
 * What a download works with.
 * @template Room what `reserve` takes for an answer
 */
export interface Job<Room> {
  /** How many profiles to bring. */
  readonly count: number
  /** What is asked for profiles. */
  readonly client: {
    ask(size: number, learn: (limit: Limit) => void, signal: AbortSignal): Promise<TimedAnswer>
  }
  /** Where the profiles are kept. */
  readonly stock: {
    /** Makes sure, before profiles are asked for, that they can be kept. */
    reserve(size: number): Promise<Room>
    /** Gives that back where no answer came. */
    release(room: Room): void
    /** Keeps the profiles of an answer and returns how many of them were new. */
    keep(profiles: readonly ServedProfile[], room: Room): Promise<number>
  }
  /** Who is told how it goes. */
  readonly display: {
    onKept(): void
    onWait(ms: number): void
    onRetry(failure: CallFailure): void
    onRefused(entry: string): void
  }
  /** No further call is made from then on; those under way go on. */
  readonly stop: AbortSignal
  /** Calls under way are given up. */
  readonly abort: AbortSignal
}

/** How a download went. */
export interface Download {
  /** Calls that were made. */
  requests: number
  /** Calls that were sent and whose answer never came whole. */
  broken: number
  /** How many profiles the service may have allocated for those. */
  brokenProfiles: number
  /** What ended it before all was there; undefined where all is, or nothing more was to be had. */
  failure: unknown
}
