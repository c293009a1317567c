/** What is in a directory, by its names alone: which profiles are unused. */
import { opendirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { errnoOf, Failure, reasonOf } from '../failure.ts'
import { iccidDigits } from '../profile/iccid.ts'
import { OpenDirectory } from './flush/flush.ts'
import { ENDING, fileName, hasFiller, isProfileName, keyOf, parseName, USED } from './names.ts'
import { attempt } from './patience.ts'

export interface Unused {
  /** Lowest first: ICCIDs, each with its number if it came back. */
  readonly iccids: readonly string[]
  /** File names that look like profiles but are not ICCIDs: the first ones, sorted, and how many there are. */
  readonly notProfiles: readonly string[]
  readonly notProfileCount: number
  /** Unused files that have a used twin. They count as used. */
  readonly twins: readonly string[]
  readonly used: number
}

/** Of a million foreign files, nobody wants to see more. */
const MOST_NAMED = 100

/**
 * Ignores names that do not end in `.json`, in small letters or capitals, or that begin with a dot or with `profiles`. A
 * profile with a used twin counts as used, in any spelling, and so does one that has come back since. Of several
 * spellings of one unused profile, only the first counts.
 */
export function unusedOf(names: Iterable<string>): Unused {
  const [used, iccids, earlier] = [new IccidList(), new IccidList(), new IccidList()]
  const notProfiles: string[] = []
  let notProfileCount = 0
  for (const name of names) {
    // In capitals, as a file system or a tool that changes case has written it, nobody finds a profile.
    const isMeant = name.endsWith(ENDING) || name.slice(-ENDING.length).toLowerCase() === ENDING
    if (!isMeant || name.startsWith('.') || name.startsWith('profiles')) continue
    const parsed = parseName(name)
    if (parsed === undefined) {
      if (++notProfileCount <= MOST_NAMED) notProfiles.push(name)
      continue
    }
    const { digits, number, isUsed } = parsed
    if (isUsed) used.add(name.slice(USED.length, -ENDING.length))
    else iccids.add(name.slice(0, -ENDING.length))
    // What a profile that came back was before does not count any more.
    for (let before = 1; before < number; before++) earlier.add(keyOf({ digits, number: before }))
  }
  const twins = iccids.sort().remove(used.sort()).map(fileName)
  earlier.sort()
  for (const list of [iccids, used]) list.remove(earlier)
  return {
    iccids: iccids.toArray(),
    notProfiles: notProfiles.sort(),
    notProfileCount,
    twins,
    used: used.length,
  }
}

/** For telecommunications (ITU-T E.118). */
const INDUSTRY = '89'

/** Most ICCIDs: then 16 to 18 digits, and perhaps a filler. */
const COMMON = /^89(\d{16,18})([Ff]?)$/
const LEAST_DIGITS = 16
const MOST_DIGITS = 18
const FILLERS = ['', 'F', 'f']

/**
 * ICCIDs, as they are spelled in file names. A common one takes 8 bytes, so that a million fit into little memory: a number
 * of 18 digits, and one more digit for its length and its filler. Others are kept as text.
 */
class IccidList {
  #numbers = new BigUint64Array(1024)
  #count = 0
  /** By their digits. */
  #others = new Map<string, string>()

  get length(): number {
    return this.#count + this.#others.size
  }

  add(iccid: string): void {
    const number = packed(iccid)
    if (number === undefined) {
      const digits = iccidDigits(iccid) ?? iccid
      if (iccid < (this.#others.get(digits) ?? '~')) this.#others.set(digits, iccid)
      return
    }
    if (this.#count === this.#numbers.length)
      this.#numbers = new BigUint64Array(this.#numbers.buffer.transfer(2 * this.#numbers.byteLength))
    this.#numbers[this.#count++] = number
  }

  /** Sorts the list; nothing is added then. Of several spellings of one ICCID, the first stays. */
  sort(): this {
    this.#numbers.subarray(0, this.#count).sort()
    let before: bigint | undefined
    this.#keep((own) => {
      const isNew = own !== before
      before = own
      return isNew
    })
    return this
  }

  /**
   * Removes ICCIDs, whatever their spellings. Both lists must be sorted.
   * @returns what was removed
   */
  remove(others: IccidList): string[] {
    const removed: string[] = []
    let at = 0
    this.#keep((own, number) => {
      while (at < others.#count && identity(others.#numbers[at] ?? 0n) < own) at++
      const isKept = at === others.#count || identity(others.#numbers[at] ?? 0n) !== own
      if (!isKept) removed.push(unpacked(number))
      return isKept
    })
    for (const [digits, iccid] of this.#others)
      if (others.#others.has(digits) && this.#others.delete(digits)) removed.push(iccid)
    return removed
  }

  #keep(isKept: (own: bigint, number: bigint) => boolean): void {
    let kept = 0
    for (const number of this.#numbers.subarray(0, this.#count))
      if (isKept(identity(number), number)) this.#numbers[kept++] = number
    this.#count = kept
  }

  /** The lowest first. Those that are too short for a device to take come after the common ones. */
  toArray(): string[] {
    const others = [...this.#others.values()].sort()
    return [
      ...others.filter((iccid) => iccid < INDUSTRY),
      ...Array.from(this.#numbers.subarray(0, this.#count), unpacked),
      ...others.filter((iccid) => iccid >= INDUSTRY),
    ]
  }
}

function packed(iccid: string): bigint | undefined {
  const [, digits, filler = ''] = COMMON.exec(iccid) ?? []
  if (digits === undefined) return undefined
  const spelling = (digits.length - LEAST_DIGITS) * FILLERS.length + FILLERS.indexOf(filler)
  return BigInt(digits.padEnd(MOST_DIGITS, '0') + spelling)
}

function unpacked(number: bigint): string {
  const text = String(number).padStart(MOST_DIGITS + 1, '0')
  const spelling = Number(text.at(-1))
  const length = LEAST_DIGITS + Math.floor(spelling / FILLERS.length)
  return `${INDUSTRY}${text.slice(0, length)}${FILLERS[spelling % FILLERS.length]}`
}

/** The same for every spelling of one ICCID. */
const identity = (number: bigint) => number - ((number % 10n) % BigInt(FILLERS.length))

/** Of the directories in one without profiles. */
const MOST_LOOKED_INTO = 20

/** @throws {Failure} `no-profiles` if there is no such directory, `disk` if it can't be read */
export const readUnused = (directory: string): Unused =>
  looking(directory, () => unusedOf(namesOf(directory)))

/**
 * The names of the used files of a directory, sorted.
 * @throws {Failure} as `readUnused`
 */
export const readUsed = (directory: string): string[] =>
  looking(directory, () =>
    [...namesOf(directory)].filter((name) => name.startsWith(USED) && name.endsWith(ENDING)).sort(),
  )

/** @throws {Failure} as `readUnused` */
export const checkDirectory = (directory: string): void =>
  looking(directory, () => opendirSync(directory).closeSync())

/** @throws {Failure} as `readUnused` */
export const openDirectory = (directory: string): OpenDirectory =>
  looking(directory, () => new OpenDirectory(directory))

/**
 * Does something with a directory of profiles, and turns errors into failures.
 * @throws {Failure} `no-profiles` if there is no such directory, `disk` if it can't be read
 */
export function looking<T>(directory: string, look: () => T): T {
  try {
    return look()
  } catch (error) {
    throw error instanceof Failure ? error : directoryFailure(directory, error)
  }
}

/** Whether the name of any profile in a directory has a filler. If the directory can't be read, some may. */
export const hasFillers = (directory: string): boolean => attempt(() => isAnyIn(directory, hasFiller)) ?? true

/** Some at a time: a list of a million names would take a hundred megabytes. */
export function* namesOf(directory: string): Generator<string> {
  const opened = opendirSync(directory)
  try {
    for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) yield entry.name
  } finally {
    opened.closeSync()
  }
}

/** By their digits, how often profiles came to a directory, if that is more than once. */
export type Comings = ReadonlyMap<string, number>

/**
 * The names say it, also if somebody has deleted those from before.
 * @throws the system error
 */
export function comingsIn(directory: string): Comings {
  const comings = new Map<string, number>()
  for (const name of namesOf(directory)) {
    const { digits = '', number = 1 } = parseName(name) ?? {}
    if (number > (comings.get(digits) ?? 1)) comings.set(digits, number)
  }
  return comings
}

/** Why a directory can't be read: `no-profiles` if there is none, `disk` otherwise. */
export function directoryFailure(directory: string, error: unknown): Failure {
  const code = errnoOf(error)
  if (code === 'ENOTDIR') return new Failure('not-a-directory', `${directory} is not a directory`, error)
  if (code === 'ENOENT')
    return new Failure({ kind: 'no-directory', directory }, `directory ${directory} does not exist`, error)
  return new Failure('unread-directory', `can't read the directory ${directory}: ${reasonOf(error)}`, error)
}

/** Why no profile is unused, if so many are used, or moved. Without any, the profiles may be one level below. */
export const whyNone = (directory: string, used: number, isAnyMoved: boolean) =>
  used > 0
    ? isAnyMoved
      ? 'all-moved'
      : 'all-used'
    : ({ kind: 'no-profiles', below: lotIn(directory) } as const)

const lotIn = (directory: string): string | undefined =>
  attempt(() =>
    readdirSync(directory, { withFileTypes: true })
      .filter((each) => each.isDirectory() && !each.name.startsWith('.'))
      .slice(0, MOST_LOOKED_INTO)
      .map(({ name }) => join(directory, name))
      .find((lot) => hasProfiles(lot, false)),
  )

/** Whether a directory can be read and has any profiles, used or unused. */
export const hasProfiles = (directory: string, areUsed: boolean): boolean =>
  attempt(() => isAnyIn(directory, (name) => isProfileName(name) && name.startsWith(USED) === areUsed)) ??
  false

function isAnyIn(directory: string, isMeant: (name: string) => boolean): boolean {
  for (const name of namesOf(directory)) if (isMeant(name)) return true
  return false
}
