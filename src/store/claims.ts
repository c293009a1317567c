/**
 * Who gets a profile: whose rename has taken it out of sight. Whether that claim uses the profile or is void is one more
 * name, which the draft of the used file and a directory can both get, and the first one wins. So nobody has to finish what
 * a killed call began: others void it, and it has cost nothing. All profiles of a call go step by step together, with one
 * flush a step.
 */
import { lstatSync, renameSync } from 'node:fs'
import { errnoOf, UnusableProfile } from '../failure.ts'
import { pause } from '../pause.ts'
import { parseStored } from '../profile/stored.ts'
import type { Messages } from '../words.ts'
import { type DeviceRecord, decideRecords, draftRecord, makeRecords } from './devices.ts'
import * as files from './files.ts'
import { Guard } from './guard.ts'
import { listHeld } from './listing.ts'
import {
  fieldsOf,
  type Held,
  iccidOf,
  newTag,
  type Places,
  parseUsed,
  pathIn,
  placesOf,
  type Used,
} from './names.ts'

/** A profile that this call holds, and has not decided to use yet. */
export interface Claim extends Held {
  /** The digits, without a filler. */
  readonly iccid: string
  /** What its unused file says. */
  readonly stored: string
  /** What its used file is to say. */
  readonly text: string
  readonly device: string | undefined
  readonly places: Places
}

/** Who claims, and when (RFC 3339). */
export interface By {
  readonly station: string
  readonly claimed: string
}

/**
 * So long a call may need between two steps. To take a slower one for killed does no harm. A client of Windows may remember
 * for ten seconds that there was no `__X`.
 */
const KILLED_MS = process.platform === 'win32' ? 12_000 : 1000

const TRIES = 50
const PAUSE_MS = 20

/**
 * Takes a profile out of the sight of all others.
 * @returns false if it is gone, or if it was rubbish beside a used file
 */
export function hold({ unused, used, held }: Places): boolean {
  if (!files.rename(unused, held)) return false
  if (!files.exists(used)) return true
  // Somebody has put it back. Only this call has it, and it goes.
  files.remove(held)
  return false
}

/** What all claims of a call have in common. */
export interface Claimant {
  readonly directory: string
  readonly guard: Guard
  readonly by: By
}

/**
 * Claims a profile. It is not decided yet.
 * @param name X
 * @returns undefined if somebody else has it
 * @throws {UnusableProfile} if its file is no profile, or can't be read; it stays as it is
 */
export function begin(
  { directory, guard, by }: Claimant,
  name: string,
  device: string | undefined,
): Claim | undefined {
  const path = pathIn(directory, name)
  if (!files.exists(path) || !guard.isOn(name)) return undefined
  const stored = files.readText(path)
  if (stored === undefined) return undefined
  parseStored(stored, name)
  const owner = parseUsed(stored)?.device
  if (owner !== undefined && owner !== device)
    throw new UnusableProfile('damaged', `device ${owner} has it, and only that device can get it again`)
  const tag = newTag()
  const places = placesOf(directory, { name, tag })
  const text = JSON.stringify({
    ...fieldsOf(stored),
    ...by,
    ...(device !== undefined && { device }),
    claim: tag,
  })
  files.write(places.draft, text)
  try {
    if (hold(places)) return { name, tag, iccid: iccidOf(name) ?? '', stored, text, device, places }
  } catch (error) {
    files.remove(places.draft)
    throw error
  }
  files.remove(places.draft)
  return undefined
}

/**
 * Decides claims. Those that it returns are used, durable, and this call's; the others were voided, or their devices have
 * other profiles.
 * @throws the system error; what is used by then is in `used`
 */
export async function commit(directory: string, claims: readonly Claim[], used: Claim[]): Promise<void> {
  if (claims.length === 0) return
  const devices = claims.filter(({ device }) => device !== undefined)
  const drafts = new Map(devices.map((each) => [each, draftRecord(directory, recordFor(each))]))
  await files.flushFiles([...claims.map(({ places }) => places.draft), ...drafts.values()], true)
  const signed = claims.filter(({ places }) => sign(places))
  const forDevices = signed.filter((each) => drafts.has(each))
  // A record must not outlast its claim: the device would wait for a profile that somebody else may take.
  if (forDevices.length > 0) files.flushDirectory(directory)
  const paths = forDevices.map((each) => drafts.get(each) ?? '')
  const records = await decideRecords(directory, forDevices.map(recordFor), paths)
  const denied = new Set(forDevices.filter(({ iccid }, at) => records[at] !== iccid))
  const recorded = signed.filter((each) => !denied.has(each))
  for (const each of recorded) {
    place(each.places)
    used.push(each)
  }
  if (recorded.length > 0) files.flushDirectory(directory)
  // Somebody else may have finished it, and then it says the same.
  const lost = recorded.filter(({ places, tag }) => parseUsed(files.read(places.used))?.claim !== tag)
  for (const each of lost) used.splice(used.indexOf(each), 1)
  await giveBack(
    directory,
    claims.filter((each) => !used.includes(each)),
  )
}

const recordFor = ({ device = '', iccid }: Claim): DeviceRecord => ({ device, iccid })

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
      // Whatever the error says: what is there decides.
      const decided = textOf(decision)
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

/** Whoever decides, or finishes it for a killed call, does the same. */
function place({ decision, used }: Places): void {
  files.rename(decision, used)
}

/** Removes what claims that are used, durable and printed have left. It does no harm if that stays. */
export function clear(claims: readonly Pick<Claim, 'places'>[]): void {
  try {
    for (const { places } of claims) files.remove(places.held)
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
  }
}

/**
 * Voids claims, so that their profiles are unused again. One that is decided is finished instead.
 * @returns those that are used, and perhaps not printed
 */
export async function giveBack(
  directory: string,
  all: readonly (Held | Claim)[],
): Promise<{ held: Held; used: Used }[]> {
  if (all.length === 0) return []
  const guard = new Guard(directory)
  const left: { held: Held; used: Used }[] = []
  try {
    for (const held of all) {
      const used = await voidOrFinish(directory, guard, held)
      if (used !== undefined) left.push({ held, used })
    }
    return left
  } finally {
    guard.end()
  }
}

async function voidOrFinish(directory: string, guard: Guard, held: Held | Claim): Promise<Used | undefined> {
  const places = placesOf(directory, held)
  // Only its own call renames a draft: what that has removed is void, also on a full disk.
  if ('places' in held && files.remove(places.draft)) {
    letGo(guard, held.name, places)
    files.removeEmpty(places.decision)
    return undefined
  }
  if (!files.patiently(() => files.makeNew(places.decision))) {
    const decided = textOf(places.decision)
    // Somebody else is at it.
    if (decided === undefined) return undefined
    if (decided !== 'void') return finish(directory, guard, held, decided)
  }
  const used = parseUsed(files.read(places.used))
  if (used?.claim === held.tag) {
    files.removeEmpty(places.decision)
    return used
  }
  files.remove(places.draft)
  letGo(guard, held.name, places)
  files.removeEmpty(places.decision)
  return undefined
}

/** Makes a profile unused again whose claim is void. */
export function letGo(guard: Guard, name: string, { held, unused }: Pick<Places, 'held' | 'unused'>): void {
  // Others look at its name for a moment only. The guard of a killed call is rubbish after an hour: then it is given back.
  for (let tries = TRIES; tries > 0 && !guard.isOn(name); tries--) pause(PAUSE_MS)
  if (guard.isOn(name)) files.rename(held, unused)
}

/** Finishes a claim that is decided. Its device may have another profile by now: then it is given back. */
async function finish(directory: string, guard: Guard, held: Held, text: string): Promise<Used | undefined> {
  const places = placesOf(directory, held)
  const used = parseUsed(text)
  const iccid = iccidOf(held.name) ?? ''
  // What is concluded from is durable first, whoever made it.
  files.flushDirectory(directory)
  await files.flushFiles([places.decision], true)
  const records = used?.device === undefined ? [] : [{ device: used.device, iccid }]
  if ((await makeRecords(directory, records)).some((recorded) => recorded !== iccid)) {
    files.remove(places.decision)
    letGo(guard, held.name, places)
    return undefined
  }
  place(places)
  files.flushDirectory(directory)
  return used
}

/**
 * Voids what calls have held for more than a second, and finishes what they have decided.
 */
export async function settle(directory: string, messages: Pick<Messages, 'warn'>): Promise<void> {
  const look = () => listHeld(directory).filter(({ move }) => move === undefined)
  const before = look()
  if (before.length === 0) return
  pause(KILLED_MS)
  const now = new Set(look().map(({ tag }) => tag))
  const left = before.filter(({ tag }) => now.has(tag))
  for (const { held, used } of await giveBack(directory, left)) {
    messages.warn(perhapsNotPrinted(held, used))
    files.remove(placesOf(directory, held).held)
  }
}

/** What is said of a profile whose call was killed between its claim and its end. */
export function perhapsNotPrinted({ name }: Held, { device, station, claimed }: Used): string {
  const iccid = iccidOf(name)
  const whose = device === undefined ? '' : ` for device ${device}`
  const again = device === undefined ? `--iccid ${iccid}` : `--device ${device}`
  return `${iccid} was claimed${whose} by station ${station} at ${claimed}, and perhaps not printed: softsim next ${again} prints it again`
}

/** What a call that holds a profile has written about itself; undefined if it is gone by now. */
export function claimOf(directory: string, held: Held): Used | undefined {
  const { draft, decision } = placesOf(directory, held)
  return parseUsed(textOf(draft)) ?? parseUsed(textOf(decision))
}
