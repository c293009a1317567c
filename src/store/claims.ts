/**
 * Who gets a profile: whose rename has taken it out of sight. Whether that claim uses the profile or is void is one more
 * name, which the draft of the used file and a directory can both get, and the first one wins. So nobody has to finish what
 * a killed call began: others void it, and it has cost nothing. All profiles of a call go step by step together, with one
 * flush a step.
 */
import { lstatSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errnoOf, ignoreIfSystem, UnusableProfile } from '../failure.ts'
import { pause } from '../pause.ts'
import { parseStored } from '../profile/check.ts'
import type { Messages } from '../words.ts'
import { makeRecords } from './devices.ts'
import * as files from './files.ts'
import { listHeld } from './listing.ts'
import {
  CLAIMS,
  fieldsOf,
  type Held,
  iccidOf,
  newTag,
  type Places,
  parseUsed,
  pathIn,
  placesOf,
  type Used,
  usedName,
} from './names.ts'
import { readUsed } from './state.ts'

/**
 * Keeps two renames of one unused profile apart where both can succeed: nobody takes a profile, or gives it back, whose name
 * somebody else has among the claims. Elsewhere, a rename itself is exact, and there are no guards.
 * @param name X
 * @param own the end of its name, for what comes: such a guard is this call's alone, and only `hold` looks for it
 * @returns what the action returns; undefined if somebody else has the guard
 */
export function guarded<T>(directory: string, name: string, action: () => T, own = ''): T | undefined {
  if (!files.canTwoWin(directory)) return action()
  const guard = join(directory, CLAIMS, (iccidOf(name) ?? name) + own)
  if (!files.patiently(() => take(guard)) && own === '') return undefined
  try {
    return action()
  } finally {
    // What is left of it is rubbish after an hour.
    files.removeEmpty(guard)
  }
}

function take(guard: string): boolean {
  try {
    return files.makeNew(guard)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
    files.make(dirname(guard))
    return files.makeNew(guard)
  }
}

/** A profile that this call holds, or has used. */
export interface Claim extends Held, Pick<Used, 'device' | 'isNew'> {
  /** The digits, without a filler. */
  readonly iccid: string
  /** What its unused file says. */
  readonly stored: string
  readonly places: Places
}

/** Who claims, when, and for which device. */
export type By = Pick<Used, 'station' | 'claimed' | 'device' | 'isNew'>

/**
 * So long a call may need between two steps. To take a slower one for killed does no harm. A client of Windows may remember
 * for ten seconds that there was no `__X`.
 */
const KILLED_MS = process.platform === 'win32' ? 12_000 : 1000

/**
 * Takes a profile out of the sight of all others. The caller has its guard, and has read it.
 * @returns false if it is gone, if it may be coming still, or if it was rubbish beside a used file
 */
export function hold(directory: string, name: string, { unused, used, held }: Places): boolean {
  if (files.canTwoWin(directory)) {
    const [all, own] = [files.namesIn(join(directory, CLAIMS)), `${iccidOf(name)}`]
    // Whoever is amid the rename that brought it has had a guard since before it was read.
    if (!all.includes(own) || all.some((each) => each.startsWith(`${own}~`))) return false
  }
  if (!files.rename(unused, held)) return false
  if (!files.exists(used)) return true
  // Somebody has put it back. Only this call has it, and it goes.
  files.remove(held)
  return false
}

/**
 * Claims a profile. It is not decided yet.
 * @param name X
 * @returns undefined if somebody else has it
 * @throws {UnusableProfile} if its file is no profile, or can't be read; it stays as it is
 */
export function begin(directory: string, name: string, by: By): Claim | undefined {
  if (!files.exists(pathIn(directory, name))) return undefined
  return guarded(directory, name, () => {
    const stored = files.readText(pathIn(directory, name))
    if (stored === undefined) return undefined
    parseStored(stored, name)
    const owner = parseUsed(stored)?.device
    if (owner !== undefined && owner !== by.device)
      throw new UnusableProfile('damaged', `device ${owner} has it, and only that device can get it again`)
    const tag = newTag()
    const places = placesOf(directory, { name, tag })
    files.write(places.draft, JSON.stringify({ ...fieldsOf(stored), ...by, claim: tag }))
    let isHeld = false
    try {
      isHeld = hold(directory, name, places)
    } finally {
      if (!isHeld) files.remove(places.draft)
    }
    return isHeld ? { ...by, name, tag, iccid: iccidOf(name) ?? '', stored, places } : undefined
  })
}

/**
 * Decides claims. Those in `used` are durable, and this call's, at its end; the others were voided, or their devices have
 * other profiles.
 * @throws the system error; what is used by then is in `used`
 */
export async function commit(directory: string, claims: readonly Claim[], used: Claim[]): Promise<void> {
  const drafts = claims.map(({ places }) => places.draft)
  const recorded = await makeRecords(directory, claims, ({ places }) => sign(places), drafts)
  const unsure: Claim[] = []
  for (const each of recorded) {
    const { places } = each
    if (files.rename(places.decision, places.used) !== 'done' || files.canTwoWin(directory)) unsure.push(each)
    used.push(each)
  }
  if (recorded.length > 0) await files.flushNames(directory, ...recorded.map(({ places }) => places.used))
  // Somebody else may have finished it, and then it says the same.
  const lost = unsure.filter(({ places, tag }) => parseUsed(files.read(places.used))?.claim !== tag)
  for (const each of lost) used.splice(used.indexOf(each), 1)
  for (const each of claims) if (!used.includes(each)) await giveBack(directory, each)
}

/**
 * Decides that a claim uses its profile, unless somebody has voided it.
 * @throws the system error, if neither is so
 */
function sign({ draft, decision }: Places): boolean {
  return files.patiently(() => {
    try {
      renameSync(draft, decision)
      return true
    } catch (error) {
      // What is there decides. A directory was in the way: it is void, also where an old look still shows the draft.
      const decided = errnoOf(error) === 'EISDIR' ? 'void' : textOf(decision)
      if (decided === undefined && errnoOf(error) !== 'ENOENT' && files.exists(draft)) throw error
      return decided !== undefined && decided !== 'void'
    }
  })
}

/** The text of a decision: `void` if it is a directory, undefined if there is none. */
function textOf(decision: string): string | undefined {
  try {
    return files.read(decision)
  } catch (error) {
    if (errnoOf(error) === 'EISDIR') return 'void'
    // On Windows, a directory can't be opened. It may be gone by now.
    const status = lstatSync(decision, { throwIfNoEntry: false })
    if (status === undefined) return undefined
    if (status.isDirectory()) return 'void'
    throw error
  }
}

/** Removes what claims that are used, durable and printed have left. It does no harm if that stays. */
export const clear = (claims: readonly Claim[]): Promise<void> =>
  files.removeAll(claims.map(({ places }) => places.held)).catch(ignoreIfSystem)

/**
 * Voids a claim, so that its profile is unused again. One that is decided is finished instead.
 * @returns whether it is used, and perhaps not printed
 */
export async function giveBack(directory: string, held: Held | Claim): Promise<boolean> {
  const places = placesOf(directory, held)
  const isUsed = () => parseUsed(files.read(places.used))?.claim === held.tag
  // Only its own call renames a draft: what that has removed is void, also on a full disk.
  if (!('places' in held) || !files.remove(places.draft)) {
    // Its own call may be about to rename the decision, and Windows would put a directory in the place of the used file.
    if (isUsed()) return true
    if (!files.patiently(() => files.makeNew(places.decision))) {
      const decided = textOf(places.decision)
      // Somebody else is at it.
      if (decided === undefined) return false
      if (decided !== 'void') return finish(directory, held, decided)
    }
    // If there was none, it was decided, or others void it. A look may be old, unless it follows a list.
    if (!files.remove(places.draft) && files.namesIn(directory).length > 0 && isUsed()) {
      files.removeEmpty(places.decision)
      return true
    }
  }
  letGo(directory, held)
  files.removeEmpty(places.decision)
  return false
}

/** Makes a profile unused again whose claim is void. */
export function letGo(directory: string, each: Held): void {
  const { held, unused } = placesOf(directory, each)
  // Others look at its name for a moment only. The guard of a killed call is rubbish after an hour: then it is given back.
  files.waitFor(() => guarded(directory, each.name, () => files.rename(held, unused)) !== undefined)
}

/** Finishes a claim that is decided. Its device may have another profile by now: then it is given back. */
async function finish(directory: string, held: Held, text: string): Promise<boolean> {
  const places = placesOf(directory, held)
  const { device, isNew } = parseUsed(text) ?? {}
  const own = await makeRecords(directory, [{ device, isNew, iccid: iccidOf(held.name) ?? '' }])
  if (own.length === 0) {
    files.remove(places.decision)
    letGo(directory, held)
    return false
  }
  files.rename(places.decision, places.used)
  await files.flushNames(directory, places.used)
  return true
}

/** Voids what others have held for more than a second, and finishes what they have decided. `own` is not printed yet. */
export async function settle(directory: string, messages: Pick<Messages, 'warn'>, own: Held[] = []) {
  const isOwn = ({ tag }: Held) => own.some((each) => each.tag === tag)
  const look = () => listHeld(directory).filter((each) => each.move === undefined && !isOwn(each))
  const before = look()
  if (before.length === 0) return
  pause(KILLED_MS)
  const now = new Set(look().map(({ tag }) => tag))
  for (const each of before.filter(({ tag }) => now.has(tag))) {
    const warning = (await giveBack(directory, each)) ? perhapsNotPrinted(directory, each) : undefined
    if (warning === undefined) continue
    messages.warn(warning)
    files.remove(placesOf(directory, each).held)
  }
}

/**
 * What is said of a profile whose call was killed between its claim and its end.
 * @returns undefined if it is not used by that call
 */
export function perhapsNotPrinted(directory: string, { name, tag }: Held): string | undefined {
  const used = readUsed(directory, usedName(name))
  if (typeof used === 'string' || used.claim !== tag) return undefined
  const { device, station, claimed } = used
  const iccid = iccidOf(name)
  const whose = device === undefined ? '' : ` for device ${device}`
  const only = device === undefined ? 'if no call is running and no device has it, ' : ''
  const again = device === undefined ? `--iccid ${iccid}` : `--device ${device}`
  return `${iccid} was claimed${whose} by station ${station} at ${claimed}, and perhaps not printed: ${only}softsim next -k KEY -i ${directory} ${again} prints it again`
}
