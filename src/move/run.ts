import type { OpenTarget } from '../store/incoming/target.ts'
import type { Receipt } from '../store/receipt.ts'
import type { Messages } from '../words.ts'

/** One call of `move`. */
export interface Run {
  readonly source: string
  readonly target: OpenTarget
  readonly receipt: Receipt | undefined
  /** Aborted: stop where the same command can go on. */
  readonly stop: AbortSignal
  readonly messages: Messages
  readonly tally: Tally
}

/** How far it is. */
export interface Tally {
  claimed: number
  moved: number
}
