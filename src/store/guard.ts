/** What keeps calls apart where the file system does not. */
import { dirname, join } from 'node:path'
import { errnoOf } from '../failure.ts'
import { canTwoWin, make, makeNew, patiently, removeEmpty } from './files.ts'
import { CLAIMS, iccidOf } from './names.ts'

/**
 * Keeps two renames of one unused profile apart where both can succeed: nobody renames a profile whose name somebody else
 * has among the claims. Elsewhere, a rename itself is exact, and there are no guards.
 * @param name X
 * @returns what the action returns; undefined if somebody else has the guard
 */
export function guarded<T>(directory: string, name: string, action: () => T): T | undefined {
  if (!canTwoWin(directory)) return action()
  const guard = join(directory, CLAIMS, iccidOf(name) ?? name)
  if (!patiently(() => take(guard))) return undefined
  try {
    return action()
  } finally {
    // What is left of it is rubbish after an hour.
    removeEmpty(guard)
  }
}

function take(guard: string): boolean {
  try {
    return makeNew(guard)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
    make(dirname(guard))
    return makeNew(guard)
  }
}
