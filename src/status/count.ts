import type { IccidList } from '../store/iccid-list.ts'
import { countReceived } from '../store/incoming/answers.ts'
import { countMoved, type Moved } from '../store/move/count.ts'
import { readUnused } from '../store/read.ts'

/** How many files of each kind a directory has, by their names. */
export interface Counts {
  readonly unused: number
  readonly used: number
  /** Of the used ones: those that a call is claiming, or was killed while it did. */
  readonly unfinished: number
  /** Of the used ones: those that were moved to another directory. */
  readonly moved: number
  /** Of the used ones: those that an interrupted move has claimed. */
  readonly inTransit: number
  /** Named like a profile, but not after an ICCID. */
  readonly notProfiles: number
  /** Received by a `fetch` or a `move` that has not stored them yet. */
  readonly received: number
}

export interface Found {
  readonly counts: Counts
  /** Of the unused profiles, lowest first. */
  readonly iccids: IccidList
  /** The files of claims that are not finished. */
  readonly unfinished: readonly string[]
  readonly inTransit: Moved['inTransit']
  /** The first files that are named like a profile, but not after an ICCID. */
  readonly notProfiles: readonly string[]
}

/**
 * Looks at the names in a directory, and, if any were moved out of it, at the used files.
 * @throws {Failure} `no-profiles` if there is no such directory, `disk` if it can't be read
 */
export function countFiles(directory: string): Found {
  const { iccids, used, notProfiles, notProfileCount, twins } = readUnused(directory)
  const { moved, inTransit } = countMoved(directory)
  const unfinished = twins.filter((name) => !inTransit.has(name))
  const counts = {
    unused: iccids.length,
    used,
    unfinished: unfinished.length,
    moved,
    inTransit: inTransit.size,
    notProfiles: notProfileCount,
    received: countReceived(directory),
  }
  return { counts, iccids, unfinished, inTransit, notProfiles }
}
