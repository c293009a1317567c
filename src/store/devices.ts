/**
 * Which profile a device has. The used file itself is the record: it contains the profile, the device, the station and
 * the time. It is first written to `.devices/`, named after a hash of the device's serial number, and flushed. Then the
 * same file gets the used name, which only one process can create. If a call is killed, the next call for the same
 * device finishes its work.
 */
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, unlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { errnoOf, UnusableProfile } from '../failure.ts'
import { iccidDigits } from '../profile/iccid.ts'
import { isUsed } from './claim.ts'
import { flushDirectorySync } from './flush/directory.ts'
import { writeFlushedSync } from './flush/files.ts'
import { isExisting, tryLink } from './links.ts'
import { fileName, spellings, usedName } from './names.ts'
import { readProfile } from './read.ts'
import { removeIfThere } from './remove.ts'
import { fileRights, rightsOf } from './rights.ts'

const PLACE = '.devices'

/** A profile that is assigned to a device. */
export interface Assignment {
  readonly device: string
  /** The name of the profile's file while it is unused. */
  readonly name: string
  /** The text of the used file: the profile, and the device that has it. */
  readonly text: string
  readonly path: string
  /** 1 for the first assignment of a device. */
  readonly turn: number
}

/** The record of a device. */
export interface History {
  /** The last assignment. Another one follows only if its profile went to another device. */
  readonly assignment: Assignment | undefined
  /** How many assignments there are. */
  readonly turns: number
  /** Records that can't be read, because of a crash (on FAT) or because somebody changed them. */
  readonly damaged: readonly string[]
}

/** @throws the system error */
export function historyOf(directory: string, device: string): History {
  let assignment: Assignment | undefined
  const damaged: string[] = []
  for (let turn = 1; ; turn++) {
    const path = pathOf(directory, device, turn)
    const text = readIfThere(path)
    if (text === undefined) return { assignment, turns: turn - 1, damaged }
    const name = nameIn(text, device)
    if (name === undefined) damaged.push(path)
    else assignment = { device, name, text, path, turn }
  }
}

/**
 * Assigns a profile to a device and flushes that. Of several calls for the same device, only one succeeds.
 * @param turns how many assignments of the device this call knows
 * @returns the assignment that applies: another call's if that one was first
 * @throws the system error
 */
export function assign(
  directory: string,
  device: string,
  profile: { name: string; stored: string },
  turns: number,
): { assignment: Assignment; turns: number } {
  const { name, stored } = profile
  const record = { device, station: hostname(), claimed: new Date().toISOString(), file: name }
  makePlace(directory)
  const path = pathOf(directory, device, turns + 1)
  writeNew(directory, path, JSON.stringify({ ...JSON.parse(stored), ...record }))
  flushDirectorySync(join(directory, PLACE))
  const { assignment, turns: now } = historyOf(directory, device)
  if (assignment === undefined) throw new Error(`${path} can't be read again`)
  return { assignment, turns: now }
}

/**
 * Claims a profile for its device. Doing so again changes nothing. The claim is durable once the directory is flushed.
 * @returns `claimed` by this call, `had` by an earlier one, `lost` to another device or call
 * @throws the system error
 */
export function claimFor(directory: string, assignment: Assignment): 'claimed' | 'had' | 'lost' {
  const { name, text, path, device } = assignment
  const used = join(directory, usedName(name))
  let outcome: 'claimed' | 'had' = 'had'
  if (!isUsed(directory, name)) {
    const linked = tryLink(path, used)
    // A crash here leaves a used file without a device.
    if (linked === 'linked' || (linked === 'unable' && createFlushed(directory, used, text)))
      outcome = 'claimed'
  }
  // Not before this: the used name may be another call's, which is about to move the unused file there.
  if (!isClaimedFor(directory, assignment)) return 'lost'
  if (outcome === 'claimed' && historyOf(directory, device).turns > assignment.turn) {
    // Another call for the device found the profile taken, and assigned the next one.
    unlinkSync(used)
    return 'lost'
  }
  // It may be gone already: an earlier call for this device removed it, or another tool renamed it to the used name.
  removeIfThere(join(directory, name))
  return isClaimedFor(directory, assignment) ? outcome : 'lost'
}

/** @param text of a used file */
export function deviceIn(text: string): string | undefined {
  try {
    const { device } = JSON.parse(text)
    return typeof device === 'string' ? device : undefined
  } catch {
    return undefined
  }
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

/** Whether the device has the profile that is assigned to it, under any spelling of its name. */
export const isClaimedFor = (directory: string, { name, device }: Assignment) =>
  spellings(name).some((each) => deviceIn(readIfThere(join(directory, usedName(each))) ?? '') === device)

/** Whether the profile of an assignment is in the directory at all, used or unused. */
export const isThere = (directory: string, { name }: Assignment) =>
  spellings(name).some((each) => existsSync(join(directory, each))) || isUsed(directory, name)

/** The name of the unused file; undefined if the record is torn or was changed. */
function nameIn(text: string, device: string): string | undefined {
  if (deviceIn(text) !== device) return undefined
  const { file, iccid } = JSON.parse(text)
  const digits = iccidDigits(String(iccid))
  return digits !== undefined && spellings(fileName(digits)).includes(file) ? file : undefined
}

/** A serial number may contain any characters, and case matters: it can't be a file name itself. */
function pathOf(directory: string, device: string, turn: number): string {
  return join(directory, PLACE, `${createHash('sha256').update(device).digest('hex')}.${turn}`)
}

/** Creates a complete file, or does nothing if there is one. */
function writeNew(directory: string, path: string, text: string): void {
  const temporary = join(directory, PLACE, `~${randomUUID()}`)
  try {
    createFlushed(directory, temporary, text)
    if (tryLink(temporary, path) === 'unable') createFlushed(directory, path, text)
  } finally {
    removeIfThere(temporary)
  }
}

/** @returns false if there is such a file already */
function createFlushed(directory: string, path: string, text: string): boolean {
  try {
    writeFlushedSync(path, text, fileRights(rightsOf(directory)))
    return true
  } catch (error) {
    if (!isExisting(error, path)) throw error
    return false
  }
}

function makePlace(directory: string): void {
  try {
    mkdirSync(join(directory, PLACE), { mode: rightsOf(directory) })
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
  }
  // Also if it exists: the call that made it may have been killed before this.
  flushDirectorySync(directory)
}

/** @throws {Error} if it is there and can't be read, or is not a regular file */
const readIfThere = (path: string) => readProfile(dirname(path), basename(path))
