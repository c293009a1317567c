import type { IccidList } from '../store/iccid-list.ts'
import { countReceived } from '../store/incoming/answers.ts'
import { readUnused } from '../store/read.ts'

/** How many files of each kind a directory has, by their names. */
export interface Counts {
  readonly unused: number
  readonly used: number
  /** Of the used ones: those that a call is claiming, or was killed while it did. */
  readonly unfinished: number
  /** Named like a profile, but not after an ICCID. */
  readonly notProfiles: number
  /** Received by a `fetch` that has not stored them yet. */
  readonly received: number
}

/**
 * Looks at the names in a directory.
 * @returns the counts, the ICCIDs of the unused profiles, lowest first, and the files of claims that are not finished
 * @throws {Failure} `no-profiles` if there is no such directory, `disk` if it can't be read
 */
export function countFiles(directory: string): { counts: Counts; iccids: IccidList; unfinished: string[] } {
  const { iccids, used, notProfileCount, twins } = readUnused(directory)
  const counts = {
    unused: iccids.length,
    used,
    unfinished: twins.length,
    notProfiles: notProfileCount,
    received: countReceived(directory),
  }
  return { counts, iccids, unfinished: twins }
}
