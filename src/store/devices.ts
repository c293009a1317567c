/**
 * Which profile a device has. The used file itself is the record: beside the profile it holds the device, the station
 * and the time. It is written to `.devices/` first, under a hash of the device's serial number, and is durable there;
 * then the same file gets the used name, which only one process can give. So the next call for a device finishes what
 * a call that was cut off has begun.
 */
import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { errnoOf } from '../failure.ts'
import { isUsed } from './claim.ts'
import { flushDirectorySync, writeFlushedSync } from './flush.ts'
import { tryLink } from './links.ts'
import { usedName } from './names.ts'
import { fileRights, rightsOf } from './rights.ts'

const PLACE = '.devices'

/** A profile that is meant for a device. */
export interface Assignment {
  readonly device: string
  /** The name of the profile's file while it is unused. */
  readonly name: string
  /** The text of the used file: the profile, and the device that has it. */
  readonly text: string
  readonly path: string
}

/** What is recorded of a device. */
export interface History {
  /** The assignment that is in force: the last one. One follows another where its profile went to somebody else. */
  readonly assignment: Assignment | undefined
  /** How many there are. */
  readonly turns: number
}

/** @throws the system error */
export function historyOf(directory: string, device: string): History {
  let assignment: Assignment | undefined
  for (let turn = 1; ; turn++) {
    const path = pathOf(directory, device, turn)
    const text = readIfThere(path)
    if (text === undefined) return { assignment, turns: turn - 1 }
    const name = nameIn(text, device)
    if (name !== undefined) assignment = { device, name, text, path }
  }
}

/**
 * Assigns a profile to a device, durably. Of several calls for the same device only one can.
 * @param name of the profile's file while it is unused
 * @param stored what that file holds
 * @param turns how many assignments of the device this call knows of
 * @returns what is in force then: another call's assignment where that was first
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
 * Gives a device its profile. The claim is durable when the directory has been flushed.
 * @returns false where somebody else has the profile
 * @throws the system error
 */
export function claimFor(directory: string, assignment: Assignment): boolean {
  const { name, text, path, device } = assignment
  const used = join(directory, usedName(name))
  if (isUsed(directory, name)) {
    if (!isOf(used, device)) return false
  } else if (tryLink(path, used) === 'unable') {
    // A crash in here leaves a used file that names no device.
    createFlushed(directory, used, text)
  }
  // It may be gone: an earlier call for this device removed it, or a tool that renames over whatever it finds.
  rmSync(join(directory, name), { force: true })
  return isOf(used, device)
}

/** The device that has a used profile; undefined where none was named. */
export function deviceIn(text: string): string | undefined {
  try {
    const { device } = JSON.parse(text)
    return typeof device === 'string' ? device : undefined
  } catch {
    return undefined
  }
}

/** Whether the used file of an assignment's profile is that device's. */
export const holds = (directory: string, { name, device }: Assignment) =>
  isOf(join(directory, usedName(name)), device)

const isOf = (used: string, device: string) => deviceIn(readIfThere(used) ?? '') === device

/** A record that a crash has torn, which FAT allows, has none. */
const nameIn = (text: string, device: string): string | undefined =>
  deviceIn(text) === device ? JSON.parse(text).file : undefined

/** Any characters may be in a serial number, and two that differ only in case are two: it never becomes a name. */
function pathOf(directory: string, device: string, turn: number): string {
  return join(directory, PLACE, `${createHash('sha256').update(device).digest('hex')}.${turn}`)
}

/** Whole under its name, or not there; nothing where there is one already. */
function writeNew(directory: string, path: string, text: string): void {
  const temporary = join(directory, PLACE, `~${randomUUID()}`)
  createFlushed(directory, temporary, text)
  try {
    if (tryLink(temporary, path) === 'unable') createFlushed(directory, path, text)
  } finally {
    rmSync(temporary, { force: true })
  }
}

function createFlushed(directory: string, path: string, text: string): void {
  try {
    writeFlushedSync(path, text, fileRights(rightsOf(directory)))
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
  }
}

function makePlace(directory: string): void {
  try {
    mkdirSync(join(directory, PLACE), { mode: rightsOf(directory) })
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
  }
  // Also where it is there: the call that made it may have been killed before this.
  flushDirectorySync(directory)
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}
