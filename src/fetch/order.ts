import type { Messages } from '../words.ts'

/** What to fetch, where from, where to, and until when. */
export interface Order {
  readonly apiKey: string
  readonly count: number
  readonly directory: string
  readonly url: string
  readonly version: string
  readonly messages: Messages
  readonly progress: { follow(line: () => string): void }
  /** Aborted: send no more requests; pending ones continue. */
  readonly stop: AbortSignal
  /** Aborted: give up pending requests. */
  readonly abort: AbortSignal
}
