import { type Tombstone, tombstoneIn } from '../claim/use.ts'
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
  const fateOf = fatesIn(directory)
  for (const used of readUsed(directory)) {
    const tombstone = tombstoneIn(textOf(directory, used))
    if (tombstone === undefined) continue
    const fate = fateOf(used, tombstone)
    if (fate === 'in transit') inTransit.set(used.slice(2), tombstone.to)
    else if (fate === 'moved') moved++
  }
  return { moved, inTransit }
}

/**
 * Reads the drafts of a directory once.
 * @returns what became of the profile of a tombstone: undefined if it is settled as a claim is
 * @throws the system error
 */
export function fatesIn(directory: string) {
  const drafts = new Set(
    openMoves(directory).flatMap((move) => draftsOf(move).map((name) => move.id + name.split('~')[0])),
  )
  return (used: string, { move }: Tombstone): 'moved' | 'in transit' | undefined => {
    const whose = whoseIs({ id: move, source: directory })
    if (drafts.has(move + used.slice(2)) && whose !== 'source') return 'in transit'
    return whose === 'target' ? 'moved' : undefined
  }
}
