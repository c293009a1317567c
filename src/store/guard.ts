import { join } from 'node:path'
import { errnoOf } from '../failure.ts'
import { canTwoWin, decide, exists, namesIn, prepare, remove, removeEmpty } from './files.ts'
import { CLAIMS, iccidOf, newTag } from './names.ts'

/**
 * Keeps two renames of one unused profile apart where both can succeed: nobody renames a profile whose name somebody else
 * has among the claims. Elsewhere, a rename itself is exact, and there are no guards. One directory goes from name to name
 * for all profiles of a call.
 */
export class Guard {
  readonly #claims: string
  readonly #isNeeded: boolean
  #tag = newTag()
  /** Where it is now. */
  #place: string | undefined

  constructor(directory: string, isNeeded = canTwoWin(directory)) {
    this.#claims = join(directory, CLAIMS)
    this.#isNeeded = isNeeded
  }

  /**
   * Takes the guard of a profile.
   * @param name X
   * @returns false if somebody else has it
   */
  isOn(name: string): boolean {
    if (!this.#isNeeded) return true
    const path = join(this.#claims, iccidOf(name) ?? name)
    if (path === this.#place && exists(join(path, this.#tag))) return true
    if (path !== this.#place && namesIn(path).length > 0) return false
    // Somebody may have taken this call for killed, and removed its guard.
    if (this.#place === undefined || !exists(join(this.#place, this.#tag))) {
      this.#tag = newTag()
      this.#place = join(this.#claims, `~${this.#tag}`)
      prepare(this.#place, this.#tag, '')
    }
    if (decide(this.#place, path, this.#tag) !== this.#tag) return false
    this.#place = path
    return true
  }

  /** What is left of it is rubbish after an hour. */
  end(): void {
    if (this.#place === undefined) return
    try {
      remove(join(this.#place, this.#tag))
      removeEmpty(this.#place)
    } catch (error) {
      if (errnoOf(error) === undefined) throw error
    }
    this.#place = undefined
  }
}
