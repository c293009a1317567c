/**
 * Which profile a device has: one record each, made once, while its profile is held by a claim that is decided. A record is
 * a directory `.devices/<hash>` with one name of digits in it, the ICCID; the results of the device have other names there.
 *
 * Invariant: a device has at most one record, and it is never changed.
 */
import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import { Failure } from '../failure.ts'
import * as files from './files.ts'
import { copyFailure } from './identity.ts'
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

/** What is recorded at a place. */
function recordAt(place: string, names = files.namesIn(place)): DeviceRecord | undefined {
  const iccid = names.find(isIccid)
  if (iccid === undefined) return undefined
  const { device } = fieldsOf(files.read(join(place, iccid)))
  return typeof device === 'string' ? { device, iccid } : undefined
}

/** Where the record of a device is. */
function ownPlace(directory: string, device: string): string | undefined {
  return placesOf(directory, device).find((place) => recordAt(place)?.device === device)
}

/** The one function that says which profile a device has. */
export function recordOf(directory: string, device: string): DeviceRecord | undefined {
  const place = ownPlace(directory, device)
  return place === undefined ? undefined : recordAt(place)
}

/** The device whose serial number differs from this one in case, Unicode form or leading zeros only. */
export function twinOf(directory: string, device: string): string | undefined {
  const [first] = placesOf(directory, device)
  const other = recordAt(first)?.device
  return other === device ? undefined : other
}

/** The places of all devices. Other programs may have put something else there. */
const placesIn = (directory: string): string[] =>
  files
    .namesIn(join(directory, DEVICES))
    .filter((name) => !name.startsWith('~'))
    .map((name) => join(directory, DEVICES, name))

export const records = (directory: string): DeviceRecord[] =>
  placesIn(directory).flatMap((place) => recordAt(place) ?? [])

/**
 * Writes the draft of a record. It is not durable yet.
 * @returns its path
 */
export function draftRecord(directory: string, { device, iccid }: DeviceRecord): string {
  const draft = join(directory, DEVICES, `~${newTag()}`)
  files.prepare(draft, iccid, JSON.stringify({ device }))
  return join(draft, iccid)
}

/**
 * Records the profiles of devices, each unless it has one. They are durable then.
 * @param all of profiles whose claims for these devices are decided and durable
 * @param drafts their drafts, flushed
 * @returns the ICCIDs that are recorded now, in the same order
 */
export async function decideRecords(
  directory: string,
  all: readonly DeviceRecord[],
  drafts: readonly string[],
): Promise<string[]> {
  if (all.length === 0) return []
  const places = all.map((each, at) => decidePlace(directory, each, dirname(drafts[at] ?? '')))
  const records = places.map((place) => recordAt(place)?.iccid ?? '')
  // Whoever made it may not have flushed it.
  await files.flushFiles(places.map((place, at) => join(place, records[at] ?? '')))
  await files.flushDirectories(places)
  files.flushDirectory(join(directory, DEVICES))
  return records
}

/** The same in one go. */
export async function makeRecords(directory: string, all: readonly DeviceRecord[]): Promise<string[]> {
  const drafts = all.map((each) => draftRecord(directory, each))
  await files.flushFiles(drafts)
  return decideRecords(directory, all, drafts)
}

/** Where the record of a device is, which is its draft if there was none. */
function decidePlace(directory: string, { device, iccid }: DeviceRecord, draft: string): string {
  for (const place of placesOf(directory, device)) {
    if (recordAt(place) === undefined) files.decide(draft, place, iccid, isIccid)
    if (recordAt(place)?.device !== device) continue
    if (files.exists(draft)) files.drop(draft, iccid)
    return place
  }
  // A call that slept for an hour finds its draft gone.
  throw new Failure('disk', `the record of device ${device} can't be made`, 'run the same command again')
}

/** The name of a result begins with the time in milliseconds since 1970, or a later one if a clock goes back. */
const RESULT = /^r(\d+)-/
const numberOf = (name: string): number => Number(RESULT.exec(name)?.[1])

/**
 * Adds a result to the record of a device. It is durable then.
 * @throws {Failure} `copy` if it has none any more
 * @param isLast whether it comes after all others, whatever the clocks of the stations say
 */
export function addResult(directory: string, device: string, result: Result, isLast = true): void {
  const place = ownPlace(directory, device)
  if (place === undefined) throw copyFailure(directory)
  const last = isLast ? resultNames(files.namesIn(place)).at(-1) : undefined
  const number = Math.max(Date.parse(result.time), last === undefined ? 0 : numberOf(last) + 1)
  const path = join(place, `r${number}-${newTag()}`)
  files.write(path, JSON.stringify(result))
  files.flushFile(path)
  files.flushDirectory(place)
}

/** The results of a device, the last one at the end. */
export function resultsOf(directory: string, device: string): Result[] {
  const place = ownPlace(directory, device)
  return place === undefined ? [] : resultsAt(place, files.namesIn(place))
}

const resultNames = (names: readonly string[]): string[] =>
  names.filter((name) => RESULT.test(name)).sort((a, b) => numberOf(a) - numberOf(b))

const resultsAt = (place: string, names: readonly string[]): Result[] =>
  resultNames(names).flatMap((name) => parseResult(files.read(join(place, name))) ?? [])

/** All records with the results of each device, in one pass. */
export function histories(directory: string): (DeviceRecord & { readonly results: readonly Result[] })[] {
  return placesIn(directory).flatMap((place) => {
    const names = files.namesIn(place)
    const record = recordAt(place, names)
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
