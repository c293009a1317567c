import { basename } from 'node:path'
import { UnusableProfile } from '../../failure.ts'
import { iccidDigits } from '../../profile/iccid.ts'
import type { Messages } from '../../words.ts'
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

  /** @returns undefined if there is no such file */
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
    if (known !== undefined && basename(known).startsWith(usedName('')))
      throw new UnusableProfile('damaged', `${known} says that it was used there, or moved away from there`)
    return { name, stored }
  }
}
