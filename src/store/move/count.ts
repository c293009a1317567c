import { tombstoneIn } from '../claim/use.ts'
import { textOf } from '../devices/history.ts'
import { looking, readUsed } from '../read.ts'
import { draftsOf, hasMovesOut, openMoves, whoseIs } from './journal.ts'

/** What has left a directory, or is about to. */
export interface Moved {
  /** How many profiles other directories have. */
  readonly moved: number
  /** The names of the unused files of profiles that an interrupted move has claimed, each with where it goes. */
  readonly inTransit: ReadonlyMap<string, string>
}

/**
 * Reads all used files of a directory that profiles were moved out of: only they say who has a profile.
 * @throws {Failure} as `readUsed`
 */
export const countMoved = (directory: string): Moved => looking(directory, () => count(directory))

function count(directory: string): Moved {
  const inTransit = new Map<string, string>()
  let moved = 0
  if (!hasMovesOut(directory)) return { moved, inTransit }
  const open = openMoves(directory)
  const drafts = new Set(open.flatMap((move) => draftsOf(move).map((name) => move.id + name.split('~')[0])))
  for (const used of readUsed(directory)) {
    const tombstone = tombstoneIn(textOf(directory, used))
    if (tombstone === undefined) continue
    const name = used.slice(2)
    const whose = whoseIs({ id: tombstone.move, source: directory })
    // What is not taken back completely is settled as a claim is.
    if (drafts.has(tombstone.move + name) && whose !== 'source') inTransit.set(name, tombstone.to)
    else if (whose === 'target') moved++
  }
  return { moved, inTransit }
}
