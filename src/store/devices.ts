/**
 * Which profile a device has: one record each, made once, while its profile is held by a claim that is decided. A record is
 * a directory `.devices/<hash>` with one name of digits in it, the ICCID; the results of the device have other names there.
 *
 * Invariant: a device has at most one record, and it is never changed.
 */
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { Failure } from '../failure.ts'
import * as files from './files.ts'
import { copyFailure } from './identity.ts'
import { DEVICES, fieldsOf, newTag, type Used } from './names.ts'

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
export const folded = (device: string): string =>
  device
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/(?<!\d)0+(?=\d)/g, '')

/** Whether two serial numbers differ in case, Unicode form or leading zeros only. */
export const isTwin = (one: string, other: string): boolean => one !== other && folded(one) === folded(other)

/** The place of a device, and the one that it has if a device of another spelling has the first. No serial number has a NUL. */
const placesOf = (directory: string, device: string): string[] =>
  [folded(device), `\0${device}`].map((text) => join(directory, DEVICES, hash('sha256', text)))

const isIccid = (name: string): boolean => /^\d+$/.test(name)

/** A record, and where it is. */
type Found = DeviceRecord & { readonly place: string }

/** What is to be recorded. Without a device, nothing is. */
type Wanted = Pick<Used, 'iccid' | 'device' | 'isNew'>

function recordAt(place: string, names = files.namesIn(place)): Found | undefined {
  const iccid = names.find(isIccid)
  if (iccid === undefined) return undefined
  const { device } = fieldsOf(files.read(join(place, iccid)))
  return { device: String(device ?? ''), iccid, place }
}

/** The one function that says which profile a device has. @throws {Failure} `disk` if a power cut has emptied the record */
export function recordOf(directory: string, device: string): Found | undefined {
  let damaged: string | undefined
  for (const place of placesOf(directory, device)) {
    const record = recordAt(place)
    if (record?.device === device) return record
    if (record?.device === '') damaged = place
  }
  if (damaged === undefined) return undefined
  throw new Failure('disk', `${damaged} is damaged`, 'put it back from a backup')
}

/** The device whose serial number differs from this one in case, Unicode form or leading zeros only. */
export function twinOf(directory: string, device: string): string | undefined {
  const [first = ''] = placesOf(directory, device)
  const other = recordAt(first)?.device
  return other === device || other === '' ? undefined : other
}

/**
 * Records the profiles of devices, each unless it has one. They are durable then.
 * @param isDecided decides the claim of one, when all that can fail before is done
 * @param paths files that must be durable by then
 * @returns those that are decided, and that no other profile of their devices is in the way of
 */
export async function makeRecords<E extends Wanted>(
  directory: string,
  all: readonly E[],
  isDecided: (each: E) => boolean = () => true,
  paths: readonly string[] = [],
): Promise<E[]> {
  const place = () => join(directory, DEVICES, `~${newTag()}`)
  const drafts = all.flatMap((own) =>
    own.device === undefined ? [] : { own, ...own, device: own.device, place: place() },
  )
  if (drafts.length > 0) files.make(join(directory, DEVICES))
  for (const { place, iccid, device } of drafts)
    files.write(join(files.make(place), iccid), JSON.stringify({ device }))
  // Whoever finds a record finds one that is durable, but perhaps for its name.
  await Promise.all([
    files.flushFiles([...paths, ...drafts.map(({ place, iccid }) => join(place, iccid))], true),
    files.flushDirectories(drafts.map(({ place }) => place)),
  ])
  const decided = new Set(all.filter(isDecided))
  if (drafts.length === 0) return [...decided]
  // A record must not outlast its claim: the device would wait for a profile that somebody else may take.
  files.flushDirectory(directory)
  const records = drafts.filter(({ own }) => decided.has(own)).map((draft) => decide(directory, draft))
  files.flushDirectory(join(directory, DEVICES))
  const recorded = new Map(records.map(({ device, iccid }) => [device, iccid]))
  return [...decided].filter(({ device, iccid }) => device === undefined || recorded.get(device) === iccid)
}

/** The record of a device, which is this draft if there was none; that of a device of another spelling, if it may be the same. */
function decide(directory: string, draft: Found & Wanted): Found {
  const { device, iccid, isNew } = draft
  for (const place of placesOf(directory, device)) {
    if (recordAt(place) === undefined) files.decide(draft.place, place, iccid, isIccid)
    const record = recordAt(place)
    // It may have the other place already.
    const isOther = record?.device !== device && (isNew || recordOf(directory, device) !== undefined)
    if (record === undefined || isOther) continue
    if (files.exists(draft.place)) files.drop(draft.place, iccid)
    return record
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
 * @param number orders the results; without it, this is the last one, whatever the clocks of the stations say
 */
export function addResult(directory: string, device: string, result: Result, number?: number): void {
  const { place } = recordOf(directory, device) ?? {}
  if (place === undefined) throw copyFailure(directory)
  const last = () => numberOf(resultNames(files.namesIn(place)).at(-1) ?? 'r0-')
  const path = join(place, `r${number ?? Math.max(Date.parse(result.time), last() + 1)}-${newTag()}`)
  files.write(path, JSON.stringify(result))
  files.flushFile(path)
  files.flushDirectory(place)
}

/** The results of a device, the last one at the end. */
export function resultsOf(directory: string, device: string): Result[] {
  const { place } = recordOf(directory, device) ?? {}
  return place === undefined ? [] : resultsAt(place, files.namesIn(place))
}

const resultNames = (names: readonly string[]): string[] =>
  names.filter((name) => RESULT.test(name)).sort((a, b) => numberOf(a) - numberOf(b))

const resultsAt = (place: string, names: readonly string[]): Result[] =>
  resultNames(names).flatMap((name) => parseResult(files.read(join(place, name))) ?? [])

/** All records with the results of each device, in one pass. Other programs may have put something else there. */
export function records(directory: string): (DeviceRecord & { readonly results: readonly Result[] })[] {
  const names = files.namesIn(join(directory, DEVICES)).filter((name) => !name.startsWith('~'))
  return names.flatMap((name) => {
    const place = join(directory, DEVICES, name)
    const entries = files.namesIn(place)
    const record = recordAt(place, entries)
    return record?.device ? { ...record, results: resultsAt(place, entries) } : []
  })
}

/** @returns undefined if a power cut has torn it, or if it is no result */
function parseResult(text: string | undefined): Result | undefined {
  const { result, station, time, note } = fieldsOf(text)
  if ((result !== 'pass' && result !== 'fail') || typeof station !== 'string' || typeof time !== 'string')
    return undefined
  return { result, station, time, note: typeof note === 'string' ? note : undefined }
}
