/** Who has a profile, by its names. How it becomes used, and how it comes back: each is the creation of one file. */
import { randomUUID } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { reasonOf, UnusableProfile } from '../failure.ts'
import { iccidDigits } from '../profile/iccid.ts'
import { type Messages, several } from '../words.ts'
import { type Creation, claimsOf, createAll, type Outcome, openClaims, settle } from './decision.ts'
import { exists, lookTwice, outwaitCaches, removeIfThere } from './directory-entries.ts'
import { flushDirectory } from './flush/flush.ts'
import { type Comings, readUnused, type Unused } from './listing.ts'
import {
  CLAIMS,
  comingKey,
  earlierNames,
  fileName,
  keyOf,
  keyOfName,
  nextName,
  parseName,
  pathIn,
  placeOf,
  spellings,
  usedName,
} from './names.ts'
import { patiently } from './patience.ts'
import {
  arrivedBy,
  type By,
  byUs,
  deviceIn,
  fieldsOf,
  parseProfile,
  readProfile,
  textOf,
  tombstoneIn,
} from './profile-file.ts'

/** No call takes that long for a claim, unless its process has ended or is suspended. */
const STILL_CLAIMING_MS = 60_000

/** How many claims are finished together. */
const AT_ONCE = 64

/** The text of a file in a directory of profiles, and the file's name. */
export interface Stored {
  readonly name: string
  readonly stored: string
}

/** What a used file says. It differs from that of any other call: `claim` is a random number. */
export const usedText = (
  { name, stored }: Stored,
  device?: string,
  { station, time, panel }: By = byUs(),
): string =>
  JSON.stringify({
    ...fieldsOf(stored),
    device,
    station,
    claimed: time,
    panel,
    file: name,
    claim: randomUUID(),
  })

/**
 * What can still be claimed of a profile: the unused one, or, under its next number, one that is marked used and that no
 * device and no move is known to have.
 * @throws {UnusableProfile} if the file can't be read
 */
export function claimable(directory: string, use: Use): Stored | undefined {
  if (use.state !== 'unused' && use.state !== 'torn' && use.state !== 'used') return undefined
  const text = use.state === 'used' ? use.text : readProfile(directory, use.name)
  if (text === undefined) return undefined
  if (use.state === 'unused') return { name: use.name, stored: text }
  const isKnown = tombstoneIn(text) !== undefined || deviceIn(text) !== undefined
  return isKnown ? undefined : anew(use.name, text)
}

/** A profile that is marked used, under its next number. */
export function anew(name: string, text: string): Stored {
  const { iccid, profile } = fieldsOf(text)
  return { name: nextName(name), stored: JSON.stringify({ iccid, profile }) }
}

/**
 * Claims profiles.
 * @param texts of their used files
 * @returns what became of each
 * @throws the system error if nothing is claimed
 */
export const claimAll = (directory: string, texts: readonly string[]): Promise<Outcome[]> =>
  createAll(directory, texts.map(claimOf))

const claimOf = (text: string): Creation => ({ key: keyOfName(String(fieldsOf(text)['file'])), text })

/**
 * Makes profiles unused again that were claimed: under their next number. Only for the owner of the used files, who has
 * not given them away.
 * @param all what was stored of them
 * @throws the system error if nothing came back
 */
export async function comeBack(directory: string, all: readonly Stored[]): Promise<Outcome[]> {
  // A call that was killed may have claimed them, and a power cut must not undo that alone.
  await flushDirectory(directory)
  return comeAll(
    directory,
    all.map(({ name, stored }) => ({ key: comingKey(nextName(name)), text: stored })),
  )
}

/**
 * Creates unused files. Those that another call has decided are in their places, too.
 * @returns what became of each
 * @throws the system error
 */
export async function comeAll(directory: string, all: readonly Creation[]): Promise<Outcome[]> {
  const outcomes = await createAll(directory, all)
  settle(directory, ...all.flatMap(({ key }, at) => (outcomes[at]?.state === 'others' ? key : [])))
  return outcomes
}

/**
 * Reads the names in a directory, after finishing what killed calls have decided. It removes unused files beside their
 * used ones, and names what no call can hand out by itself.
 * @throws {Failure} as `readUnused`
 */
export function readSettled(directory: string, messages: Messages): Unused {
  const keys = tryTo(messages, CLAIMS, () => openClaims(directory)) ?? []
  for (let at = 0; at < keys.length; at += AT_ONCE) {
    const some = keys.slice(at, at + AT_ONCE).filter((key) => isToBeFinished(directory, key, messages))
    settleSome(directory, some, messages)
  }
  const found = readUnused(directory)
  const putBack = new Map<string, string>()
  for (const name of found.twins) {
    const { digits = '', number = 0 } = parseName(name) ?? {}
    tryTo(messages, digits, () => {
      const use = useOf(directory, digits)
      if (use.state === 'gone') return
      const isLast = parseName(use.name)?.number === number
      if (isLast && use.state === 'torn' && use.hasTwin)
        messages.warn(`${digits} is set aside: its used file is not complete`, 'unprinted', digits)
      else if (isPutBack(directory, name)) putBack.set(name, nextName(use.name))
      else if (!isLast || use.state === 'used') patiently(() => removeIfThere(join(directory, name)))
    })
  }
  const [first] = putBack
  if (first !== undefined)
    messages.warn(
      `${several(putBack.size, 'file')} of moved profiles put back by hand and not handed out, such as ${first[0]}`,
      'put-back',
      first[1],
    )
  return found
}

/**
 * Whether a moved profile has an unused file that came here by a later move than the one that left: somebody has put it
 * back, or copied it.
 * @param name of the unused file
 * @throws {UnusableProfile} if a used file can't be read
 * @throws the system error
 */
export function isPutBack(directory: string, name: string): boolean {
  const text = textOf(directory, name)
  const [own, last] = [useAt(directory, name), useOf(directory, parseName(name)?.digits ?? '')].map(
    tombstoneOf,
  )
  return (
    own !== undefined && last !== undefined && isProfileOf(text, name) && arrivedBy(text) !== own.profile.from
  )
}

const tombstoneOf = (use: Use) => (use.state === 'used' ? tombstoneIn(use.text) : undefined)

/** If they can't be finished together, one by one. */
function settleSome(directory: string, keys: readonly string[], messages: Messages): void {
  try {
    settle(directory, ...keys)
  } catch {
    for (const key of keys) tryTo(messages, key, () => settle(directory, key))
  }
}

/**
 * Whether a claim is no call's that may still print the profile. A profile that nobody gets by itself is named, while the
 * claim still says so: the next call for a device prints its profile, and a move goes on.
 */
function isToBeFinished(directory: string, key: string, messages: Messages): boolean {
  const claims = tryTo(messages, key, () => claimsOf(directory, key))
  for (const { claimed, iccid, station } of claims?.map(({ text }) => plainClaimIn(text)) ?? []) {
    if (Math.abs(Date.now() - Date.parse(String(claimed))) < STILL_CLAIMING_MS) return false
    const digits = iccidDigits(String(iccid))
    if (digits !== undefined)
      messages.warn(
        `${digits} is marked used and may not have been printed: a call of ${station} was killed while it claimed it, or still waits`,
        'unprinted',
        digits,
      )
  }
  return claims !== undefined
}

/** What the used file of a claim for no device says; nothing for any other claim. */
function plainClaimIn(text: string): Record<string, unknown> {
  const fields = fieldsOf(text)
  return typeof fields['file'] === 'string' && fields['device'] === undefined ? fields : {}
}

function tryTo<T>(messages: Messages, what: string, action: () => T): T | undefined {
  try {
    return action()
  } catch (error) {
    messages.warn(`${what}: a claim can't be finished: ${reasonOf(error)}`)
    return undefined
  }
}

/** In each, `name` is that of the unused file, whether it is there or not. */
export type Use =
  | { readonly state: 'unused'; readonly name: string }
  /** It is decided whose it is, and the used file is about to come. */
  | { readonly state: 'claimed'; readonly name: string; readonly text: string }
  /** `hasTwin`: its unused file is still there, or that of an earlier coming. */
  | { readonly state: 'used'; readonly name: string; readonly text: string; readonly hasTwin: boolean }
  /** The used file is empty or torn: an earlier version was killed, or the power failed. Nobody has the profile. */
  | { readonly state: 'torn'; readonly name: string; readonly text: string; readonly hasTwin: boolean }
  | { readonly state: 'gone' }

/**
 * Of a profile that came back, the last time counts.
 * @param iccid its digits
 * @param comings what the names in the directory say, unless all of them are there
 * @throws {UnusableProfile} if the used file can't be read
 * @throws the system error
 */
export function useOf(directory: string, iccid: string, comings?: Comings): Use {
  let last: Use = { state: 'gone' }
  for (let number = 1; ; number++) {
    const use = useAt(directory, fileName(keyOf({ digits: iccid, number })))
    if (use.state !== 'gone') last = use
    else if (number >= (comings?.get(iccid) ?? 1)) return last
  }
}

/**
 * The same of one coming of a profile. In this order, because a claim goes this way: what is not claimed yet when it is
 * looked for among the claims, and not used after that, was unused.
 * @param name of the unused file
 */
export const useAt = (directory: string, name: string): Use =>
  lookTwice(
    directory,
    () => lookAt(directory, name),
    ({ state }) => state === 'torn',
  )

function lookAt(directory: string, name: string): Use {
  const names = spellings(name)
  const isThere = (each: string) => exists(join(directory, each))
  const unused = names.find(isThere)
  const [claim] = claimsOf(directory, keyOfName(name))
  for (const each of names) {
    const text = exists(join(directory, usedName(each))) ? readProfile(directory, usedName(each)) : undefined
    if (text === undefined) continue
    const hasTwin = unused !== undefined || earlierNames(name).some(isThere)
    if (isComplete(text, each)) return { state: 'used', name: each, text, hasTwin }
    if (claim === undefined)
      return { state: 'torn', name: unused ?? each, text, hasTwin: unused !== undefined }
  }
  if (claim !== undefined)
    return { state: 'claimed', name: String(fieldsOf(claim.text)['file']), text: claim.text }
  return unused === undefined ? { state: 'gone' } : { state: 'unused', name: unused }
}

/** Whether a used file names its profile. */
function isComplete(text: string, name: string): boolean {
  const { iccid, profile } = tombstoneIn(text)?.profile ?? fieldsOf(text)
  return typeof profile === 'string' && isOf(iccid, name)
}

const isOf = (iccid: unknown, name: string) => iccidDigits(String(iccid)) === parseName(name)?.digits

/**
 * Removes the unused file beside a used one: a killed call left it, or somebody put it back.
 * @throws the system error
 */
export function removeTwin(directory: string, use: Use): void {
  if (use.state !== 'used' || !use.hasTwin) return
  const names = [...spellings(use.name), ...earlierNames(use.name)]
  for (const name of names) patiently(() => removeIfThere(join(directory, name)))
}

/** @param text of a file, if there is one */
export const isProfileOf = (text: string | undefined, name: string): boolean =>
  text !== undefined && isOf(parseProfile(text)?.iccid, name)

/** Whether a file holds its profile. One that can't be read counts as stored, so that it is left unchanged. */
export function isStored(directory: string, name: string): boolean {
  if (!exists(pathIn(directory, name))) return false
  try {
    return isProfileOf(readProfile(directory, name), name)
  } catch (error) {
    if (error instanceof UnusableProfile) return true
    throw error
  }
}

/**
 * Reads what only a claim creates, and finishes the claim before that if it is needed.
 * @param most in bytes
 * @returns undefined if there is none
 * @throws {UnusableProfile}
 * @throws the system error
 */
export function readDecided(directory: string, key: string, most?: number): string | undefined {
  const { path } = placeOf(directory, { key, text: '' })
  const read = () => readProfile(dirname(path), basename(path), most)
  for (let before = read(); ; ) {
    if (before?.endsWith('}')) return before
    settle(directory, key)
    if (before !== undefined) outwaitCaches(directory)
    const text = read()
    if (text === before) return text
    before = text
  }
}
