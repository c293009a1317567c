import { reasonOf } from '../failure.ts'
import { iccidDigits } from '../profile/iccid.ts'
import { alikeWords, inLowerCase } from '../store/devices.ts'
import { readProfile, readUsed } from '../store/read.ts'
import { deviceIn, fieldsOf, tombstoneIn } from '../store/used-file.ts'
import type { Messages } from '../words.ts'
import { warnOfEach } from './warn.ts'

/** Who has a profile. */
export interface DeviceRecord {
  readonly device: string
  readonly station: string
  /** RFC 3339. */
  readonly claimed: string
  readonly iccid: string
  /** The name of the used file. */
  readonly file: string
}

/** What the used files of a directory record. */
export interface Records {
  /** The oldest first. */
  readonly devices: readonly DeviceRecord[]
  /** How many used files name no device, without those of profiles that a move has claimed. */
  readonly withoutDevice: number
  /** The names of those that can't be read, and why. */
  readonly unreadable: readonly string[]
}

/** @throws {Failure} `no-profiles` or `disk` */
export function readRecords(directory: string): Records {
  const devices: DeviceRecord[] = []
  const names = readUsed(directory)
  const unreadable: string[] = []
  let withoutDevice = 0
  for (const name of names) {
    const before = unreadable.length
    const text = readSafely(directory, name, unreadable)
    const record = recordOf(name, text)
    if (record !== undefined) devices.push(record)
    else if (unreadable.length === before && tombstoneIn(text) === undefined) withoutDevice++
  }
  return { devices: devices.sort((a, b) => compare(a.claimed, b.claimed)), withoutDevice, unreadable }
}

/** @param unreadable receives why the file can't be read */
export const recordIn = (directory: string, name: string, unreadable: string[]): DeviceRecord | undefined =>
  recordOf(name, readSafely(directory, name, unreadable))

/** What a used file says; undefined if it names no device. */
export function recordOf(file: string, text: string): DeviceRecord | undefined {
  const device = deviceIn(text)
  if (device === undefined) return undefined
  const { station, claimed, iccid } = fieldsOf(text)
  const digits = iccidDigits(textOf(iccid)) ?? ''
  return { device, station: textOf(station), claimed: textOf(claimed), iccid: digits, file }
}

/** The devices that have more than one profile, each with the ICCIDs of all of them. */
function devicesWithSeveral(devices: readonly DeviceRecord[]): [device: string, iccids: string[]][] {
  const iccids = Map.groupBy(devices, ({ device }) => device)
  return [...iccids]
    .filter(([, records]) => records.length > 1)
    .map(([device, records]) => [device, records.map(({ iccid }) => iccid)])
}

export const warnOfSeveral = (devices: readonly DeviceRecord[], messages: Messages): void =>
  warnOfEach(messages, devicesWithSeveral(devices), {
    words: ([device, iccids]) =>
      `device ${device} has ${iccids.length} profiles: ${iccids.join(', ')}; find out which one it uses`,
    more: (others) => `${others} more devices have several profiles`,
  })

/** @param asked the serial numbers of which this is said; if none are given, all */
export function warnOfAlike(
  devices: readonly DeviceRecord[],
  messages: Messages,
  asked?: readonly string[],
): void {
  const byCase = Map.groupBy(new Set(devices.map(({ device }) => device)), inLowerCase)
  const latest = [...byCase.values()].map((alike) => alike.at(-1) ?? '')
  const pairs = (asked ?? latest)
    .map((device) => ({ device, others: byCase.get(inLowerCase(device)) ?? [] }))
    .map(({ device, others }) => ({ device, others: others.filter((each) => each !== device) }))
    .filter(({ others }) => others.length > 0)
  warnOfEach(messages, pairs, {
    words: ({ device, others }) => alikeWords(device, others),
    more: (others) => `${others} more devices differ from others in upper and lower case only`,
  })
}

export const warnOfUnreadable = (unreadable: readonly string[], messages: Messages): void =>
  warnOfEach(messages, unreadable, {
    words: (each) => each,
    more: (others) => `${others} more files are left out`,
  })

export const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

const textOf = (value: unknown) => (typeof value === 'string' ? value : '')

/** The text of a used file; empty if it can't be read. */
function readSafely(directory: string, name: string, unreadable: string[]): string {
  try {
    return readProfile(directory, name) ?? ''
  } catch (error) {
    unreadable.push(`${name} is left out: ${reasonOf(error)}`)
    return ''
  }
}
