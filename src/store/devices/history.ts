/**
 * Which profile a device has. The used file names the device, and the record of the device is a copy of it. A call
 * begins its claim with a used file that names the device, then creates the record, which only one call for the device
 * can do. A record is never changed and never removed. Another one follows only if the profile is used by somebody else,
 * for ever: a tool that only renames took it.
 */
import { closeSync, ftruncateSync, lstatSync, openSync, readdirSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Failure, UnusableProfile } from '../../failure.ts'
import { pause } from '../../pause.ts'
import { iccidDigits } from '../../profile/iccid.ts'
import { deviceIn, fieldsOf, type Use, useOf } from '../claim/use.ts'
import { flushFileSync } from '../flush/files.ts'
import { fileName, spellings } from '../names.ts'
import { patiently } from '../patience.ts'
import { readProfile, readUsed } from '../read.ts'
import { isRecord, pathOf, RECORDS } from './file-names.ts'

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
  readonly records: number
}

/**
 * @throws {Failure} `disk` if a record is torn and can't be restored
 * @throws {UnusableProfile} if the used file can't be read
 * @throws the system error
 */
export function historyOf(directory: string, device: string): History {
  const all: Assignment[] = []
  for (let number = 1; ; number++) {
    const path = pathOf(directory, device, number)
    const text = readRecord(directory, device, path)
    if (text === undefined) break
    const name = nameIn(text, device) ?? ''
    all.push({ device, name, text, path, use: useOf(directory, name) })
  }
  const last = all.at(-1)
  // While the unused file is there, whoever else has begun to claim the profile may still release it.
  const isTaken = (last?.use.state === 'used' || last?.use.state === 'moved') && last.use.unused === undefined
  // An earlier version could assign another profile although the device kept its first one.
  return { assignment: all.findLast(namesDevice) ?? (isTaken ? undefined : last), records: all.length }
}

/** Whether the used file of the assigned profile names the device. */
export const namesDevice = ({ device, use }: Assignment) =>
  use.state === 'used' && deviceIn(use.text) === device

/**
 * @param begun the profile that this call has begun to claim
 * @returns the text of a record; undefined if there is none
 */
export function readRecord(
  directory: string,
  device: string,
  path: string,
  begun?: string,
): string | undefined {
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
      { kind: 'torn-record', path },
      `the record ${path} of device ${device} is not complete${begun === undefined ? '' : `; ${begun} may now count as used`}`,
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
 * The digits of the ICCIDs of all profiles that records name.
 * @throws the system error
 */
export function recordedIccids(directory: string): Set<string> {
  const place = join(directory, RECORDS)
  const names = lstatSync(place, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(place) : []
  const records = names.filter(isRecord)
  return new Set(records.flatMap((name) => iccidDigits(String(fieldsOf(textOf(place, name))['iccid'])) ?? []))
}

/** The text of a file; empty if there is none, or if it is no profile. */
export function textOf(directory: string, name: string): string {
  try {
    return readProfile(directory, name) ?? ''
  } catch (error) {
    if (error instanceof UnusableProfile) return ''
    throw error
  }
}

/** The name of the unused file; undefined if the record is torn or was changed. */
function nameIn(text: string, device: string): string | undefined {
  const { device: named, file, iccid } = fieldsOf(text)
  const digits = iccidDigits(String(iccid))
  if (named !== device || typeof file !== 'string' || digits === undefined) return undefined
  return spellings(fileName(digits)).includes(file) ? file : undefined
}
