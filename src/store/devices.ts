/**
 * Which profile a device has: one record each, made once, while its profile is held by a claim that is decided. A record is
 * a directory `.devices/<hash>` with one name of digits in it, the ICCID; the results of the device have other names there.
 *
 * Invariant: a device has at most one record, and it is never changed.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import {
  decide,
  drop,
  exists,
  flushDirectories,
  flushDirectory,
  flushFile,
  flushFiles,
  make,
  namesIn,
  prepare,
  read,
  write,
} from './files.ts'
import { DEVICES, fieldsOf, newTag } from './names.ts'

export interface DeviceRecord {
  readonly device: string
  /** The digits, without a filler. */
  readonly iccid: string
}

/** What a station has found out about a device that got its profile. */
export interface Result {
  readonly result: 'pass' | 'fail'
  readonly station: string
  /** RFC 3339. */
  readonly time: string
  /** What the device or its programmer said, in short. */
  readonly note?: string | undefined
}

/** Spellings of one serial number that people and scanners mix up: case, Unicode form, leading zeros. */
const folded = (device: string): string =>
  device
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/(?<!\d)0+(?=\d)/g, '')

/** Whether two serial numbers differ in case, Unicode form or leading zeros only. */
export const isTwin = (one: string, other: string): boolean => one !== other && folded(one) === folded(other)

/** A serial number may contain any characters. */
const placeOf = (directory: string, text: string): string =>
  join(directory, DEVICES, createHash('sha256').update(text).digest('hex'))

/** The place of a device, and the one that it has if a device of another spelling has the first. */
const placesOf = (directory: string, device: string): readonly [string, string] => [
  placeOf(directory, folded(device)),
  placeOf(directory, `=${device}`),
]

const isIccid = (name: string): boolean => /^\d+$/.test(name)

/** What is recorded at a place. A power cut may have taken the serial number: then the place itself says whose it is. */
const recordAt = (place: string, device?: string): DeviceRecord | undefined =>
  recordIn(place, namesIn(place), device)

function recordIn(place: string, names: readonly string[], device = ''): DeviceRecord | undefined {
  const iccid = names.find(isIccid)
  if (iccid === undefined) return undefined
  const said = fieldsOf(read(join(place, iccid)))['device']
  return { device: typeof said === 'string' ? said : device, iccid }
}

/** Where the record of a device is. */
function ownPlace(directory: string, device: string): string | undefined {
  return placesOf(directory, device).find((place) => recordAt(place, device)?.device === device)
}

/** The one function that says which profile a device has. */
export function recordOf(directory: string, device: string): DeviceRecord | undefined {
  const place = ownPlace(directory, device)
  return place === undefined ? undefined : recordAt(place, device)
}

/** The device whose serial number differs from this one in case, Unicode form or leading zeros only. */
export function twinOf(directory: string, device: string): string | undefined {
  const [first] = placesOf(directory, device)
  const other = recordAt(first, device)?.device
  return other === device ? undefined : other
}

/** The places of all devices. Other programs may have put something else there. */
const placesIn = (directory: string): string[] =>
  namesIn(join(directory, DEVICES))
    .filter((name) => !name.startsWith('~'))
    .map((name) => join(directory, DEVICES, name))

export const records = (directory: string): DeviceRecord[] =>
  placesIn(directory).flatMap((place) => recordAt(place) ?? [])

/**
 * Records the profiles of devices, each unless it has one. They are durable then.
 * @param all of profiles whose claims for these devices are decided and durable
 * @returns the ICCIDs that are recorded now, in the same order
 */
export async function makeRecords(directory: string, all: readonly DeviceRecord[]): Promise<string[]> {
  if (all.length === 0) return []
  make(join(directory, DEVICES))
  const made = all.map((each) => ({ place: decidedPlace(directory, each), ...each }))
  const records = made.map(({ place, device, iccid }) => recordAt(place, device)?.iccid ?? iccid)
  // Whoever made it may not have flushed it.
  await flushFiles(made.map(({ place }, at) => join(place, records[at] ?? '')))
  await flushDirectories(made.map(({ place }) => place))
  flushDirectory(join(directory, DEVICES))
  return records
}

/** Where the record of a device is, which is made if there is none. */
function decidedPlace(directory: string, record: DeviceRecord): string {
  const { device, iccid } = record
  const places = placesOf(directory, device)
  for (const place of places) {
    if (recordAt(place, device) === undefined) {
      const draft = join(directory, DEVICES, `~${newTag()}`)
      prepare(draft, iccid, JSON.stringify({ device }))
      decide(draft, place, iccid, isIccid)
      if (exists(draft)) drop(draft, iccid)
    }
    if (recordAt(place, device)?.device === device) return place
  }
  throw new Error(`no place for the record of device ${device}`)
}

/** Begins the name of a result, before the time in milliseconds since 1970. */
const RESULT = /^r\d+-/

/** Adds a result to the record of a device. It is durable then. */
export function addResult(directory: string, device: string, result: Result): void {
  const place = ownPlace(directory, device)
  if (place === undefined) throw new Error(`device ${device} has no record`)
  const path = join(place, `r${Date.parse(result.time)}-${newTag()}`)
  write(path, JSON.stringify(result))
  flushFile(path)
  flushDirectory(place)
}

/** The results of a device, in the order of time. */
export function resultsOf(directory: string, device: string): Result[] {
  const place = ownPlace(directory, device)
  return place === undefined ? [] : resultsAt(place, namesIn(place))
}

const resultsAt = (place: string, names: readonly string[]): Result[] =>
  names
    .filter((name) => RESULT.test(name))
    .flatMap((name) => parseResult(read(join(place, name))) ?? [])
    .sort((a, b) => Date.parse(a.time) - Date.parse(b.time))

/** All records with the results of each device, in one pass. Of a device whose serial number is lost, `device` is empty. */
export function histories(directory: string): (DeviceRecord & { readonly results: readonly Result[] })[] {
  return placesIn(directory).flatMap((place) => {
    const names = namesIn(place)
    const record = recordIn(place, names)
    return record === undefined ? [] : [{ ...record, results: resultsAt(place, names) }]
  })
}

/** @returns undefined if a power cut has torn it, or if it is no result */
function parseResult(text: string | undefined): Result | undefined {
  const { result, station, time, note } = fieldsOf(text)
  if ((result !== 'pass' && result !== 'fail') || typeof station !== 'string' || typeof time !== 'string')
    return undefined
  return { result, station, time, note: typeof note === 'string' ? note : undefined }
}
