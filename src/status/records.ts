/** What the files of a directory say of its profiles and their devices, and what a person is warned of. */
import { reasonOf, UnusableProfile } from '../failure.ts'
import { iccidDigits } from '../profile/iccid.ts'
import { isPutBack, type Use, useAt, useOf } from '../store/claim.ts'
import { alikeWords, inLowerCase } from '../store/devices.ts'
import { directoryFailure, readUsed } from '../store/listing.ts'
import { fileName } from '../store/names.ts'
import { attempt } from '../store/patience.ts'
import { deviceIn, fieldsOf, readProfile, stringOf, tombstoneIn } from '../store/profile-file.ts'
import type { Messages } from '../words.ts'

export const MOST_WARNINGS = 20

/**
 * Warns of the first things of a list.
 * @param more what is said of the others
 */
export function warnOfEach<T>(
  messages: Messages,
  things: readonly T[],
  says: { words: (thing: T) => string; more: (others: number) => string; kind?: 'unrecorded' },
): void {
  for (const thing of things.slice(0, MOST_WARNINGS)) messages.warn(says.words(thing), says.kind)
  const others = things.length - MOST_WARNINGS
  if (others > 0) messages.warn(says.more(others))
}

/**
 * What the names of one profile say. If its used file can't be read, that says as little as a torn one.
 * @param iccid its digits
 * @throws {Failure} `disk` if nobody can tell; `no-profiles` if there is no such directory
 */
export function useIn(directory: string, iccid: string, onUnreadable = () => {}): Use {
  try {
    return useOf(directory, iccid)
  } catch (error) {
    if (!(error instanceof UnusableProfile)) throw directoryFailure(directory, error)
    onUnreadable()
    return { state: 'torn', name: fileName(iccid), text: '', hasTwin: false }
  }
}

/**
 * A killed call leaves both files. Moved apart, they would give one profile to two devices.
 * @param names unused files that have a used file beside them
 */
export const warnOfUnfinished = (directory: string, names: readonly string[], messages: Messages): void =>
  warnOfEach(messages, names, {
    words: (name) => claimOf(directory, name),
    more: (others) => `${others} more claims are not finished`,
  })

function claimOf(directory: string, name: string): string {
  // If nobody can tell whose it is, the warning says enough.
  const use = attempt(() => useAt(directory, name))
  if (attempt(() => isPutBack(directory, name)))
    return `${name}: a move has taken it away, and somebody has put it back; it is not handed out`
  const text = use?.state === 'used' || use?.state === 'claimed' ? use.text : ''
  const device = deviceIn(text)
  const { station, claimed } = fieldsOf(text)
  const known = [station, claimed].filter((each) => typeof each === 'string')
  const whose = known.length > 0 ? ` (${known.join(', ')})` : ''
  return device === undefined
    ? `${name}: a call${whose} is claiming it, or was killed while it did; do not move it`
    : `${name}: a call is claiming it for device ${device}, or was killed while it did: scan the device again; do not move it`
}

/**
 * @param goingTo where interrupted moves go
 * @param inTransit what they have claimed: where each goes, by its unused name
 */
export function warnOfTransit(
  goingTo: Iterable<string>,
  inTransit: ReadonlyMap<string, string>,
  messages: Messages,
): void {
  for (const to of goingTo) messages.warn(`a move to ${to} is not finished: run the same command again`)
  for (const [name, to] of inTransit) messages.tell(1, `${name} is in transit to ${to}`)
}

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
  const unreadable: string[] = []
  let withoutDevice = 0
  for (const name of readUsed(directory)) {
    const text = readSafely(directory, name, unreadable)
    const record = recordOf(name, text ?? '')
    if (record !== undefined) devices.push(record)
    else if (text !== undefined && tombstoneIn(text) === undefined) withoutDevice++
  }
  return { devices: devices.sort((a, b) => compare(a.claimed, b.claimed)), withoutDevice, unreadable }
}

/** @param unreadable receives why the file can't be read */
export const recordIn = (directory: string, name: string, unreadable: string[]): DeviceRecord | undefined =>
  recordOf(name, readSafely(directory, name, unreadable) ?? '')

/** What a used file says; undefined if it names no device. */
export function recordOf(file: string, text: string): DeviceRecord | undefined {
  const device = deviceIn(text)
  if (device === undefined) return undefined
  const { station, claimed, iccid } = fieldsOf(text)
  const digits = iccidDigits(stringOf(iccid)) ?? ''
  return { device, station: stringOf(station), claimed: stringOf(claimed), iccid: digits, file }
}

/**
 * Warns of devices with several profiles, of profiles of several devices, of serial numbers that are alike, and of files
 * that can't be read.
 * @param asked the serial numbers of which this is said; if none are given, all
 */
export function warnOfRecords(
  { devices, unreadable }: Pick<Records, 'devices' | 'unreadable'>,
  messages: Messages,
  asked?: readonly string[],
): void {
  const byDevice = Map.groupBy(devices, ({ device }) => device)
  // A directory may have two used files of one profile.
  const iccidsOf = (device: string) => [...new Set(byDevice.get(device)?.map(({ iccid }) => iccid))]
  const several = (asked ?? [...byDevice.keys()])
    .map((device) => ({ device, iccids: iccidsOf(device) }))
    .filter(({ iccids }) => iccids.length > 1)
  warnOfEach(messages, several, {
    words: ({ device, iccids }) =>
      `device ${device} has ${iccids.length} profiles: ${iccids.join(', ')}; find out which one it uses`,
    more: (others) => `${others} more devices have several profiles`,
  })
  const twice = [...Map.groupBy(devices, ({ iccid }) => iccid)]
    .map(([iccid, all]) => ({ iccid, whose: [...new Set(all.map(({ device }) => device))] }))
    .filter(
      ({ iccid, whose }) =>
        iccid !== '' &&
        whose.length > 1 &&
        (asked === undefined || whose.some((each) => asked.includes(each))),
    )
  warnOfEach(messages, twice, {
    words: ({ iccid, whose }) => `${iccid} is on several devices: ${whose.join(', ')}; do not ship them`,
    more: (others) => `${others} more profiles are on several devices`,
  })
  const byCase = Map.groupBy(byDevice.keys(), inLowerCase)
  const latest = [...byCase.values()].map((alike) => alike.at(-1) ?? '')
  const pairs = (asked ?? latest)
    .map((device) => ({
      device,
      others: byCase.get(inLowerCase(device))?.filter((each) => each !== device) ?? [],
    }))
    .filter(({ others }) => others.length > 0)
  warnOfEach(messages, pairs, {
    words: ({ device, others }) => alikeWords(device, others),
    more: (others) => `${others} more devices differ from others in upper and lower case only`,
  })
  warnOfUnreadable(unreadable, messages)
}

export const warnOfUnreadable = (unreadable: readonly string[], messages: Messages): void =>
  warnOfEach(messages, unreadable, {
    words: (each) => each,
    more: (others) => `${others} more files are left out`,
  })

export const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** The text of a used file; undefined if it can't be read. */
function readSafely(directory: string, name: string, unreadable: string[]): string | undefined {
  try {
    return readProfile(directory, name) ?? ''
  } catch (error) {
    unreadable.push(`${name} is left out: ${reasonOf(error)}`)
    return undefined
  }
}
