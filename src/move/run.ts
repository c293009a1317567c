import { Failure, reasonOf } from '../failure.ts'
import type { OpenTarget } from '../store/incoming/target.ts'
import type { ListedDraft } from '../store/move/drafts.ts'
import type { Move } from '../store/move/journal.ts'
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
  /** The drafts of what the target has now, move by move. */
  readonly given: Map<Move, ListedDraft[]>
}

/** How far it is. */
export interface Tally {
  claimed: number
  moved: number
  /** How many profiles can't be moved because they left the target before. */
  left: number
}

/** What a user is told of an error of a disk. */
export function failureOf(error: unknown, { source, target }: { source: string; target: string }): Failure {
  if (error instanceof Failure) return error
  return new Failure(
    'not-recorded',
    `can't move profiles from ${source} to ${target}: ${reasonOf(error)}`,
    error,
  )
}
