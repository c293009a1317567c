import { basename, dirname } from 'node:path'
import { Failure, UnusableProfile } from '../failure.ts'
import { fullPath } from '../full-path.ts'
import { iccidDigits } from '../profile/iccid.ts'
import { type Stored, useOf } from '../store/claim.ts'
import { recordedIccids } from '../store/devices.ts'
import { isInside, isSame, sameDirectory } from '../store/directory-entries.ts'
import { refuseCopy } from '../store/identity.ts'
import { isDirectory } from '../store/incoming/target-directory.ts'
import { type Comings, comingsIn } from '../store/listing.ts'
import { countMoved, isMarked, openMoves } from '../store/move-journal.ts'
import { isProfileName, usedName } from '../store/names.ts'
import { parseProfile, readProfile, refuseAssigned, tombstoneIn } from '../store/profile-file.ts'
import { type Messages, several } from '../words.ts'

const MOST_WARNINGS = 20

/** Which profiles may leave a directory for another one. */
export class Movables {
  readonly #source: string
  readonly #target: string
  readonly #recorded: ReadonlySet<string>
  readonly #tried = new Set<string>()
  /** Looked at in the target before. */
  readonly #approved = new Set<string>()
  /** The files in the target of profiles that it used: they can't come back. */
  readonly #used = new Set<string>()
  /** The files in the target of profiles that are unused in both directories. */
  readonly #twice = new Set<string>()
  /** What the names in the target say. */
  readonly comings: Comings

  /** @throws the system error */
  constructor(source: string, target: string) {
    this.#source = source
    this.#target = target
    this.#recorded = recordedIccids(source)
    this.comings = comingsIn(target)
  }

  /** How many profiles can't be moved because the target has used them. */
  get left(): number {
    return this.#used.size
  }

  /**
   * Reads an unused profile. One that can't be moved is named in a warning, once.
   * @param name of its file
   * @param isPlanned whether a plan has it: another one in its place would be one too many if it can be read again
   * @returns undefined if it can't be moved, or if there is no such file
   * @throws {Failure} `unreadable` if it is planned and can't be read now
   * @throws the system error
   */
  read(name: string, messages: Messages, isPlanned = false): Stored | undefined {
    try {
      return this.#read(name, isPlanned)
    } catch (error) {
      if (!(error instanceof UnusableProfile)) throw error
      if (isPlanned && error.fault !== 'damaged')
        throw new Failure('unreadable', `${name} can't be moved now: ${error.message}`, error)
      if (this.#tried.has(name)) return undefined
      this.#tried.add(name)
      const text = `${name} is not moved: ${error.message}`
      if (this.#tried.size <= MOST_WARNINGS) messages.warn(text)
      else messages.tell(1, text)
      return undefined
    }
  }

  /** Names what the target had before: one line says as much as one for each profile. */
  warnOfKnown(messages: Messages): void {
    const [used] = this.#used
    if (used !== undefined)
      messages.warn(
        `${several(this.#used.size, 'profile')} not moved: used in ${this.#target}, as ${used} says`,
      )
    const [twice] = this.#twice
    if (twice !== undefined)
      messages.warn(
        `${this.#target} already has ${several(this.#twice.size, 'profile')} of these, such as ${twice}: was one of the directories copied, or restored from a backup?`,
      )
  }

  #read(name: string, isPlanned: boolean): Stored | undefined {
    const stored = readProfile(this.#source, name)
    if (stored === undefined) return undefined
    refuseAssigned(stored)
    const { iccid } = parseProfile(stored) ?? {}
    const digits = iccidDigits(iccid ?? '')
    if (digits === undefined || iccidDigits(name.replace(/(\.\d+)?\.json$/, '')) !== digits)
      throw new UnusableProfile('damaged', 'it does not contain an encrypted profile of that ICCID')
    // Other calls of the move may have planned it before it was recorded: they count it, too.
    if (!isPlanned && this.#recorded.has(digits))
      throw new UnusableProfile('damaged', 'it is recorded for a device')
    if (!this.#approved.has(name) && this.#isUsedInTarget(digits)) return undefined
    this.#approved.add(name)
    return { name, stored }
  }

  /** What the target gave away may return to it. */
  #isUsedInTarget(digits: string): boolean {
    const use = useOf(this.#target, digits, this.comings)
    if (use.state === 'unused') this.#twice.add(use.name)
    if (use.state === 'gone' || use.state === 'unused') return false
    if (use.state === 'used' && tombstoneIn(use.text) !== undefined) return false
    this.#used.add(usedName(use.name))
    return true
  }
}

/**
 * Looks at both directories before anything is written.
 * @throws {Failure} `usage`, `no-profiles` or `copy`
 */
export function checkPlaces(source: string, target: string): void {
  if (isSame(source, target)) throw sameDirectory(source, target)
  if (isProfileName(basename(target)))
    throw new Failure('profile-as-target', `${target}: a directory can't have the name of a profile`)
  const above = dirname(target)
  if (!isDirectory(above)) throw noPlace(source, above)
  const isThere = isDirectory(target)
  if (isInside(isThere ? target : above, source)) throw nested(target, source)
  if (isThere && isInside(source, target)) throw nested(source, target)
  for (const each of [source, target]) refuseCopy(each)
  refuseOtherDisk(source, target)
}

/** Whoever believes that nothing has left the source begins another move. */
function noPlace(source: string, above: string) {
  const missing = `the directory ${above} does not exist`
  const { inTransit } = countMoved(source)
  if (inTransit.size === 0) return new Failure('no-place', missing)
  const places = [...new Set(inTransit.values())].join(' and ')
  return new Failure(
    'disk-away',
    `${missing}, with ${several(inTransit.size, 'profile')} in transit to ${places}`,
  )
}

/** Whoever copies the outer one takes the inner one for a part of it. */
const nested = (inner: string, outer: string) =>
  new Failure('nested-directories', `${inner} is inside ${outer}`)

function refuseOtherDisk(source: string, target: string): void {
  const lost = openMoves(source).find(
    ({ move, journal: { plan, fate } }) =>
      fate !== 'back' && plan.to === fullPath(target) && !isMarked(target, move),
  )
  if (lost === undefined) return
  const now = isDirectory(target) ? `${target} is another one now` : `${target} does not exist`
  throw new Failure('other-disk', `a move to ${target} is not finished, and ${now}`)
}
