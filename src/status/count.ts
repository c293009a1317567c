import type { IccidList } from '../store/iccid-list.ts'
import { countReceived } from '../store/incoming/answers.ts'
import { readUnused } from '../store/read.ts'

/** How many files of each kind a directory has, by their names. */
export interface Counts {
  readonly unused: number
  readonly used: number
  /** Named like a profile, but not after an ICCID. */
  readonly notProfiles: number
  /** Received by a `fetch` that has not stored them yet. */
  readonly received: number
}

/**
 * Looks at the names in a directory.
 * @returns the counts, and the ICCIDs of the unused profiles, lowest first
 * @throws {Failure} `no-profiles` if there is no such directory, `disk` if it can't be read
 */
export function countFiles(directory: string): { counts: Counts; iccids: IccidList } {
  const { iccids, used, strangerCount } = readUnused(directory)
  const counts = {
    unused: iccids.length,
    used,
    notProfiles: strangerCount,
    received: countReceived(directory),
  }
  return { counts, iccids }
}
