import { join } from 'node:path'
import { canTwoWin, make, makeNew, patiently, removeEmpty } from './files.ts'
import { CLAIMS, iccidOf } from './names.ts'

/**
 * Keeps two renames of one unused profile apart where both can succeed: nobody renames a profile whose name somebody else
 * has among the claims. Elsewhere, a rename itself is exact, and there are no guards.
 */
export class Guard {
  readonly #claims: string
  readonly #isNeeded: boolean
  /** The one that it has. */
  #place: string | undefined

  constructor(directory: string, isNeeded = canTwoWin(directory)) {
    this.#claims = join(directory, CLAIMS)
    this.#isNeeded = isNeeded
    if (isNeeded) make(this.#claims)
  }

  /**
   * Takes the guard of a profile, and leaves that of the one before.
   * @param name X
   * @returns false if somebody else has it
   */
  isOn(name: string): boolean {
    const path = join(this.#claims, iccidOf(name) ?? name)
    if (!this.#isNeeded || path === this.#place) return true
    this.end()
    if (!patiently(() => makeNew(path))) return false
    this.#place = path
    return true
  }

  /** What is left of it is rubbish after an hour. */
  end(): void {
    if (this.#place !== undefined) removeEmpty(this.#place)
    this.#place = undefined
  }
}
