import { UnusableProfile } from '../failure.ts'
import { readProfile } from './read.ts'

/**
 * The text of a file; empty if there is none, or if it is no profile.
 * @throws the system error
 */
export function textOf(directory: string, name: string): string {
  try {
    return readProfile(directory, name) ?? ''
  } catch (error) {
    if (error instanceof UnusableProfile) return ''
    throw error
  }
}
