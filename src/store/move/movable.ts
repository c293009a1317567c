import { basename } from 'node:path'
import { UnusableProfile } from '../../failure.ts'
import { iccidDigits } from '../../profile/iccid.ts'
import { type Messages, several } from '../../words.ts'
import { recordedIccids } from '../devices/history.ts'
import { refuseAssigned } from '../devices/record.ts'
import { parseProfile } from '../incoming/answers.ts'
import { find } from '../incoming/known.ts'
import type { Target } from '../incoming/target.ts'
import { fileName, spellings, usedName } from '../names.ts'
import { readProfile } from '../read.ts'
import type { Movable } from './drafts.ts'

const MOST_WARNINGS = 20

/** The profiles that may leave a directory for another one. */
export class Movables {
  readonly #source: string
  readonly #target: Target
  readonly #recorded: ReadonlySet<string>
  readonly #tried = new Set<string>()
  #skipped = 0
  /** The files in the target of profiles that it used or gave away: they can't come back. */
  readonly #left: string[] = []
  /** The files in the target of profiles that are unused in both directories. */
  readonly #twice: string[] = []

  /** @throws the system error */
  constructor(source: string, target: Target) {
    this.#source = source
    this.#target = target
    this.#recorded = recordedIccids(source)
  }

  /**
   * Reads unused profiles. Those that can't be moved are named in a warning, once.
   * @param names of their files
   * @throws the system error
   */
  read(names: readonly string[], messages: Messages): Movable[] {
    const fresh = names.filter((name) => !this.#tried.has(name))
    for (const name of fresh) this.#tried.add(name)
    return fresh.flatMap((name) => {
      try {
        return this.#read(name) ?? []
      } catch (error) {
        if (!(error instanceof UnusableProfile)) throw error
        this.#skipped++
        if (this.#skipped <= MOST_WARNINGS) messages.warn(`${name} is not moved: ${error.message}`)
        else messages.tell(1, `${name} is not moved: ${error.message}`)
        return []
      }
    })
  }

  /**
   * Names what the target had before: one line says as much as one for each profile.
   * @returns how many profiles can't come back
   */
  warnOfKnown(messages: Messages): number {
    const [left, twice] = [this.#left, this.#twice]
    const to = this.#target.directory
    if (left.length > 0)
      messages.warn(
        `${several(left.length, 'profile')} not moved: used in ${to}, or moved away from there, as ${left[0]} says`,
      )
    if (twice.length > 0)
      messages.warn(
        `${to} already has ${several(twice.length, 'profile')} of these, such as ${twice[0]}: was one of the directories copied, or restored from a backup?`,
      )
    return left.length
  }

  /** @returns undefined if there is no such file, or if it can't come back */
  #read(name: string): Movable | undefined {
    const stored = readProfile(this.#source, name)
    if (stored === undefined) return undefined
    refuseAssigned(stored)
    const { iccid } = parseProfile(stored) ?? {}
    if (iccid === undefined || !spellings(name).includes(fileName(iccid)))
      throw new UnusableProfile('damaged', 'it does not contain an encrypted profile of that ICCID')
    if (this.#recorded.has(iccidDigits(iccid) ?? ''))
      throw new UnusableProfile('damaged', 'it is recorded for a device')
    const known = find(this.#target, name)
    const isUsed = known !== undefined && basename(known).startsWith(usedName(''))
    if (known !== undefined) (isUsed ? this.#left : this.#twice).push(known)
    if (isUsed) return undefined
    return { name, stored }
  }
}
