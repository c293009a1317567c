/**
 * Which profile a device has. The used file names the device, and the record of the device is a copy of it. A call
 * begins its claim with a used file that names the device, then creates the record, which only one call for the device
 * can do. A record is never changed and never removed. Another one follows only if the profile is used by somebody else,
 * for ever: a tool that only renames took it.
 */
import { createHash } from 'node:crypto'
import { closeSync, existsSync, ftruncateSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { errnoOf, Failure, UnusableProfile } from '../failure.ts'
import { iccidDigits } from '../profile/iccid.ts'
import { type Contents, isExisting, release, settleFirst } from './claim.ts'
import { flushDirectorySync } from './flush/directory.ts'
import { flushFileSync, flushPathSync, writeNewSync } from './flush/files.ts'
import { fileName, spellings } from './names.ts'
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

/** The text of a record; undefined if there is none. */
function wholeRecord(directory: string, device: string, path: string): string | undefined {
  for (let tries = TORN_TRIES; ; tries--) {
    const text = readProfile(dirname(path), basename(path))
    if (text === undefined || nameIn(text, device) !== undefined) return text
    if (tries <= 0) return restored(directory, device, path)
    pause(TORN_PAUSE_MS)
  }
}

/** The call that created the record had begun its claim before, so a used file names the device. */
function restored(directory: string, device: string, path: string): string {
  const [text, another] = readUsed(directory)
    .map((name) => textOf(directory, name))
    .filter((each) => nameIn(each, device) !== undefined)
  if (text === undefined || another !== undefined) {
    throw new Failure('disk', `the record ${path} of device ${device} is damaged`, {
      hint: `if the device has no profile and no other call is running, delete ${path}; otherwise restore it from a backup`,
    })
  }
  writeAgain(path, text)
  return text
}

function writeAgain(path: string, text: string): void {
  const file = patiently(() => openSync(path, 'r+'))
  try {
    // In this order, whatever another call writes: it writes the same.
    ftruncateSync(file, writeSync(file, text, 0))
    flushFileSync(file)
  } finally {
    closeSync(file)
  }
}

/**
 * Repairs the used file of a profile that is recorded for a device: a power cut left it torn, or empty.
 * @param isTornOnly whether an empty one stays, because another call may be claiming the profile
 * @returns false if it is not repaired
 * @throws the system error
 */
export function repair(directory: string, { name, text, use }: Assignment, isTornOnly: boolean): boolean {
  if (use.state !== 'begun') return false
  const torn = textOf(directory, use.used)
  if (!text.startsWith(torn) || (isTornOnly && torn === '')) return false
  if (settleFirst(directory, name) !== 'ours') return false
  writeAgain(join(directory, use.used), text)
  return true
}

function textOf(directory: string, name: string): string {
  try {
    return readProfile(directory, name) ?? ''
  } catch (error) {
    if (error instanceof UnusableProfile) return ''
    throw error
  }
}

/** What the used file of a profile says from the beginning, if the profile is for a device. */
export function contentsFor(
  directory: string,
  device: string,
  { name, stored }: { name: string; stored: string },
): Contents {
  const record = { device, station: hostname(), claimed: new Date().toISOString(), file: name }
  return contentsOf(directory, JSON.stringify({ ...fieldsOf(stored), ...record }))
}

export const contentsOf = (directory: string, text: string): Contents => ({
  text,
  rights: fileRights(rightsOf(directory)),
})

/**
 * Records a profile for a device. If another call for the device was first, the claim is released.
 * @param text of the used file, which this call has begun
 * @returns the assignment, if the device has this profile now
 * @throws {Failure} `disk`
 * @throws the system error
 */
export function record(
  directory: string,
  device: string,
  name: string,
  text: string,
): Assignment | undefined {
  const { assignment, turns } = historyOf(directory, device)
  const path = pathOf(directory, device, turns + 1)
  try {
    if (assignment === undefined) create(directory, path, text)
  } catch (error) {
    // A record that exists assigns the profile, even if it is torn.
    if (!existsSync(path)) release(directory, name, text)
    throw error
  }
  const now = historyOf(directory, device).assignment
  if (now?.text === text) return now
  release(directory, name, text)
  return undefined
}

/** Does nothing if another call has created the record. */
function create(directory: string, path: string, text: string): void {
  try {
    writeNewSync(path, text, fileRights(rightsOf(directory)))
  } catch (error) {
    if (!isExisting(error, path)) throw error
  }
}

/**
 * Notes which profile a call for a device is about to begin to claim, for the case that it is killed before it records
 * that.
 * @throws the system error
 */
export function noteBegun(directory: string, device: string, name: string): void {
  makePlace(directory)
  writeFileSync(begunPath(directory, device), name, { mode: fileRights(rightsOf(directory)) })
}

/**
 * Records for a device the profile that a call for it had begun to claim when it was killed.
 * @returns false if there is none
 * @throws as `historyOf`
 */
export function recordBegun(directory: string, device: string): boolean {
  const path = begunPath(directory, device)
  const name = readProfile(dirname(path), basename(path))
  if (name === undefined || iccidDigits(name.replace(/\.json$/, '')) === undefined) return false
  const use = useOf(directory, name)
  if (use.state !== 'used' || use.unused === undefined || deviceIn(use.text) !== device) return false
  create(directory, pathOf(directory, device, historyOf(directory, device).turns + 1), use.text)
  return true
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
  patiently(() => removeIfThere(begunPath(directory, device)))
  const now = useOf(directory, name)
  if (now.state !== 'used' || deviceIn(now.text) !== device) return 'lost'
  return isRemoved ? 'completed' : 'had'
}

export type Outcome = 'completed' | 'had' | 'lost'

/**
 * Settles a used file that names a device beside the unused one: the call was killed before it completed its claim.
 * @returns false if the device has another profile: only the call that began the claim may release it
 * @throws as `historyOf`
 */
export function settleFor(directory: string, name: string, text: string): boolean {
  const device = deviceIn(text) ?? ''
  const { assignment, turns } = historyOf(directory, device)
  if (assignment === undefined) create(directory, pathOf(directory, device, turns + 1), text)
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
  return join(directory, RECORDS, `${createHash('sha256').update(device).digest('hex')}.${turn}`)
}

const begunPath = (directory: string, device: string) =>
  join(directory, RECORDS, `${createHash('sha256').update(device).digest('hex')}.begun`)

function makePlace(directory: string): void {
  try {
    mkdirSync(join(directory, RECORDS), { mode: rightsOf(directory) })
    flushDirectorySync(directory)
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
  }
}
