import { unlinkSync } from 'node:fs'
import { errnoOf } from '../failure.ts'

/**
 * Node's `rmSync` looks at the file first, and some of its errors have no code.
 * @throws the system error
 */
export function removeIfThere(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
  }
}
