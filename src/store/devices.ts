/**
 * Which profile a device has. The used file names the device, and the record of the device is a copy of it. A call
 * begins its claim with a used file that names the device, then creates the record, which only one call for the device
 * can do. A record is never changed and never removed. Another one follows only if the profile is used by somebody else,
 * for ever: a tool that only renames took it.
 */
import { createHash, randomUUID } from 'node:crypto'
import {
  closeSync,
  existsSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { errnoOf, Failure, UnusableProfile } from '../failure.ts'
import { iccidDigits } from '../profile/iccid.ts'
import { isExisting, isTakenOver, release, settleFirst } from './claim.ts'
import { flushDirectorySync } from './flush/directory.ts'
import { flushFileSync, flushPathSync, writeNewSync } from './flush/files.ts'
import { fileName, spellings, usedName } from './names.ts'
import { patiently, pause } from './patience.ts'
import { readProfile, readUsed } from './read.ts'
import { removeIfThere } from './remove.ts'
import { fileRights, rightsOf } from './rights.ts'
import { deviceIn, fieldsOf, type Use, useOf } from './use.ts'

const RECORDS = '.devices'

/** A call writes its record right after it has created it. */
const TORN_TRIES = 20
const TORN_PAUSE_MS = 50

/** The profile that is assigned to a device. */
export interface Assignment {
  readonly device: string
  /** The name of the profile's file while it is unused. */
  readonly name: string
  /** The text of the used file: the profile, and the device that has it. */
  readonly text: string
  /** The path of the record. */
  readonly path: string
  /** What the names of the profile say. */
  readonly use: Use
}

/** What is recorded of a device. */
export interface History {
  readonly assignment: Assignment | undefined
  /** How many records there are. All but the last name profiles that somebody else uses. */
  readonly turns: number
}

/**
 * @throws {Failure} `disk` if a record is torn and can't be restored
 * @throws {UnusableProfile} if the used file can't be read
 * @throws the system error
 */
export function historyOf(directory: string, device: string): History {
  const all: Assignment[] = []
  for (let turn = 1; ; turn++) {
    const path = pathOf(directory, device, turn)
    const text = wholeRecord(directory, device, path)
    if (text === undefined) break
    const name = nameIn(text, device) ?? ''
    all.push({ device, name, text, path, use: useOf(directory, name) })
  }
  const last = all.at(-1)
  const isFree = last !== undefined && last.use.state !== 'used'
  // Version 1.1.0 and older could assign another profile although the device kept its first one.
  return { assignment: all.findLast(isOwn) ?? (isFree ? last : undefined), turns: all.length }
}

/** Whether the used file of the assigned profile names the device. */
export const isOwn = ({ device, use }: Assignment) => use.state === 'used' && deviceIn(use.text) === device

/**
 * @param begun the profile that this call has begun to claim
 * @returns the text of a record; undefined if there is none
 */
function wholeRecord(directory: string, device: string, path: string, begun?: string): string | undefined {
  for (let tries = TORN_TRIES; ; tries--) {
    const text = readProfile(dirname(path), basename(path))
    if (text === undefined || nameIn(text, device) !== undefined) return text
    if (tries <= 0) return restored(directory, device, path, begun)
    pause(TORN_PAUSE_MS)
  }
}

/** The call that created the record had begun its claim before, so a used file names the device. */
function restored(directory: string, device: string, path: string, begun?: string): string {
  const [text, another] = readUsed(directory)
    .map((name) => textOf(directory, name))
    .filter((each) => nameIn(each, device) !== undefined)
  if (text === undefined || another !== undefined) {
    throw new Failure(
      'disk',
      `the record ${path} of device ${device} is not complete${begun === undefined ? '' : `; ${begun} may now count as used`}`,
      {
        hint: `run the same command again; if the device has no profile and no other call is running, delete ${path}`,
      },
    )
  }
  const file = patiently(() => openSync(path, 'r+'))
  try {
    // In this order, whatever another call writes: it writes the same.
    ftruncateSync(file, writeSync(file, text, 0))
    flushFileSync(file)
  } finally {
    closeSync(file)
  }
  return text
}

/**
 * Repairs the used file of a profile that is recorded for a device: a power cut left it torn, or empty.
 * @param isTornOnly whether an empty one stays, because another call may be claiming the profile
 * @returns false if it is not repaired
 * @throws the system error
 */
export function repair(directory: string, { device, name, text }: Assignment, isTornOnly: boolean): boolean {
  if (!isTorn(directory, name, text, isTornOnly) || settleFirst(directory, name, hashOf(device)) !== 'ours')
    return false
  // Once more: another call may have completed its claim before that.
  if (!isTorn(directory, name, text, isTornOnly)) return false
  // Not in place: the call that created the file may still write to it.
  const draft = writeDraft(directory, text)
  const used = join(directory, usedName(name))
  patiently(() => renameSync(draft.path, used))
  flushPathSync(used)
  flushDirectorySync(directory)
  return true
}

/** Whether the used file has only the beginning of what it should say. */
function isTorn(directory: string, name: string, text: string, isTornOnly: boolean): boolean {
  const { state } = useOf(directory, name)
  const torn = textOf(directory, usedName(name))
  return state === 'begun' && text.startsWith(torn) && !(isTornOnly && torn === '')
}

function textOf(directory: string, name: string): string {
  try {
    return readProfile(directory, name) ?? ''
  } catch (error) {
    if (error instanceof UnusableProfile) return ''
    throw error
  }
}

/** What the used file of a device's profile says. */
export const textFor = (device: string, { name, stored }: { name: string; stored: string }) =>
  JSON.stringify({
    ...fieldsOf(stored),
    device,
    station: hostname(),
    claimed: new Date().toISOString(),
    file: name,
  })

/** A complete file that gets its names by hard links, or is written again where the file system has none. */
export interface Draft {
  readonly text: string
  readonly path: string
  readonly rights: number
}

/** @throws the system error */
export function writeDraft(directory: string, text: string): Draft {
  makePlace(directory)
  const path = join(directory, RECORDS, `~${randomUUID()}`)
  const rights = fileRights(rightsOf(directory))
  writeNewSync(path, text, rights)
  return { text, path, rights }
}

/** A name that it got stays. If it stays itself, nothing reads it. */
export function removeDraft({ path }: Draft): void {
  try {
    patiently(() => removeIfThere(path))
  } catch {}
}

/**
 * Creates a file from a draft, at once complete where the file system has hard links.
 * @throws the system error, EEXIST if there is one of this name
 */
export function createFrom({ path: draft, text, rights }: Draft, path: string): void {
  try {
    linkSync(draft, path)
  } catch (error) {
    // A disk that fails may have done what it was asked to do.
    if (textOf(dirname(path), basename(path)) === text) return
    if (isExisting(error, path)) throw error
    writeNewSync(path, text, rights)
  }
}

/**
 * Records a profile for a device. If another call for the device was first, the claim is released.
 * @param draft of the used file, which this call has begun
 * @param turns how many records of the device name profiles that somebody else uses
 * @returns the assignment, if the device has this profile now
 * @throws {Failure} `disk`
 * @throws the system error
 */
export function record(
  directory: string,
  { device, name }: Pick<Assignment, 'device' | 'name'>,
  draft: Draft,
  turns: number,
): Assignment | undefined {
  const path = pathOf(directory, device, turns + 1)
  const { text } = draft
  try {
    createFrom(draft, path)
  } catch (error) {
    if (!isExisting(error, path)) {
      // A record that exists assigns the profile, even if it is torn.
      if (!existsSync(path)) release(directory, name, (used) => text.startsWith(used))
      throw error
    }
    // Another call may have recorded the same profile, in place of this one.
    if (wholeRecord(directory, device, path, name) !== text) {
      release(directory, name, (used) => text.startsWith(used))
      return undefined
    }
  }
  return { device, name, text, path, use: useOf(directory, name) }
}

/**
 * Notes which profile a call for a device is about to begin to claim, for the case that it is killed before it records
 * that.
 * @throws the system error
 */
export function noteBegun(directory: string, device: string, name: string): void {
  const mode = fileRights(rightsOf(directory))
  patiently(() => writeFileSync(begunPath(directory, device), name, { mode }))
}

/**
 * Records for a device the profile that a call for it had begun to claim when it was killed.
 * @param turns as in `record`
 * @returns false if there is none
 * @throws as `historyOf`
 */
export function recordBegun(directory: string, device: string, turns: number): boolean {
  const path = begunPath(directory, device)
  const name = readProfile(dirname(path), basename(path))
  if (name === undefined || iccidDigits(name.replace(/\.json$/, '')) === undefined) return false
  const use = useOf(directory, name)
  if (use.state !== 'used' || use.unused === undefined || deviceIn(use.text) !== device) return false
  // Not before the used file was found complete: whoever takes the claim over looks at it once more after that.
  if (isTakenOver(directory, name)) return false
  recordAgain(directory, pathOf(directory, device, turns + 1), use.text)
  return true
}

/** Creates the record that a killed call did not create, unless there is one. */
function recordAgain(directory: string, path: string, text: string): void {
  const draft = writeDraft(directory, text)
  try {
    createFrom(draft, path)
  } catch (error) {
    if (!isExisting(error, path)) throw error
  } finally {
    removeDraft(draft)
  }
}

/**
 * Completes the claim of a device's profile: flushes the used file and the record, and removes the unused file. The claim
 * is durable once the directory is flushed.
 * @returns `had` if it was complete before, `lost` if a tool that only renames took the profile
 * @throws the system error
 */
export function completeFor(directory: string, { device, name, path, use }: Assignment): Outcome {
  if (use.state === 'used' && use.unused !== undefined) {
    // The record first: alone, it claims the profile again; a used file alone would set it aside.
    flushPathSync(path)
    flushDirectorySync(dirname(path))
    flushPathSync(join(directory, use.used))
  }
  const isRemoved = patiently(() => removeIfThere(join(directory, name)))
  removeNote(directory, device)
  const now = useOf(directory, name)
  if (now.state !== 'used' || deviceIn(now.text) !== device) return 'lost'
  return isRemoved ? 'completed' : 'had'
}

export type Outcome = 'completed' | 'had' | 'lost'

/**
 * Settles a used file that names a device beside the unused one: the call was killed before it completed its claim.
 * @param isOurs whether this call has taken the claim over
 * @returns false if the device has another profile, as only the call that began the claim may release it, or if the claim
 *   is taken over
 * @throws as `historyOf`
 */
export function settleFor(directory: string, name: string, text: string, isOurs = false): boolean {
  const device = deviceIn(text)
  if (device === undefined) return false
  if (!isOurs && isTakenOver(directory, name)) return false
  const { assignment, turns } = historyOf(directory, device)
  if (assignment === undefined) recordAgain(directory, pathOf(directory, device, turns + 1), text)
  const inForce = historyOf(directory, device).assignment
  if (inForce === undefined || !isOwn(inForce) || !spellings(name).includes(inForce.name)) return false
  return completeFor(directory, inForce) !== 'lost'
}

/**
 * Somebody may have renamed a used file back by hand. Its record still assigns it to the device.
 * @param text of an unused file
 * @throws {UnusableProfile} `damaged` if it names a device
 */
export function refuseOwned(text: string): void {
  const device = deviceIn(text)
  if (device === undefined) return
  throw new UnusableProfile('damaged', `device ${device} has it, and only that device can get it again`)
}

/** The name of the unused file; undefined if the record is torn or was changed. */
function nameIn(text: string, device: string): string | undefined {
  const { device: named, file, iccid } = fieldsOf(text)
  const digits = iccidDigits(String(iccid))
  if (named !== device || typeof file !== 'string' || digits === undefined) return undefined
  return spellings(fileName(digits)).includes(file) ? file : undefined
}

/** A serial number may contain any characters, and case matters: it can't be a file name itself. */
function pathOf(directory: string, device: string, turn: number): string {
  return join(directory, RECORDS, `${hashOf(device)}.${turn}`)
}

const hashOf = (device: string) => createHash('sha256').update(device).digest('hex')

/**
 * Whether the claim of the profile of a device can be completed: no call that is not for the device has taken it over.
 * @throws {Failure} `disk` if nobody can tell
 */
export const isCompletable = (directory: string, { device, name, use }: Assignment) =>
  use.unused === undefined || !isTakenOver(directory, name, hashOf(device))

/** What is recorded applies, whatever the note says. */
function removeNote(directory: string, device: string): void {
  try {
    patiently(() => removeIfThere(begunPath(directory, device)))
  } catch {}
}

const begunPath = (directory: string, device: string) => join(directory, RECORDS, `${hashOf(device)}.begun`)

function makePlace(directory: string): void {
  try {
    mkdirSync(join(directory, RECORDS), { mode: rightsOf(directory) })
    flushDirectorySync(directory)
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
  }
}
