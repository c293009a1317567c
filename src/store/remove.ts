import { unlinkSync } from 'node:fs'
import { errnoOf } from '../failure.ts'
import { patiently } from './patience.ts'

/**
 * Node's `rmSync` looks at the file first, and some of its errors have no code.
 * @returns false if there is no such file
 * @throws the system error
 */
export function removeIfThere(path: string): boolean {
  try {
    unlinkSync(path)
    return true
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
    return false
  }
}

/** Removes what does no harm if it stays. */
export function tryToRemove(path: string): void {
  try {
    patiently(() => removeIfThere(path))
  } catch {}
}
