import { UnusableProfile } from '../failure.ts'
import { directoryFailure } from '../store/read.ts'
import { type Use, useOf } from '../store/use.ts'

/**
 * What the names of one profile say.
 * @param iccid its digits
 * @returns undefined if its used file can't be read: then the profile is used
 * @throws {Failure} `disk` if nobody can tell; `no-profiles` if there is no such directory
 */
export function lookAt(directory: string, iccid: string): Use | undefined {
  try {
    return useOf(directory, iccid)
  } catch (error) {
    if (error instanceof UnusableProfile) return undefined
    throw directoryFailure(directory, error)
  }
}
