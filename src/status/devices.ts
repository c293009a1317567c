import { iccidDigits } from '../profile/iccid.ts'
import { deviceIn } from '../store/devices.ts'
import { readProfile, readUsed } from '../store/read.ts'

/** Who has a profile. */
export interface DeviceRecord {
  readonly device: string
  readonly station: string
  /** RFC 3339. */
  readonly claimed: string
  readonly iccid: string
}

/**
 * The devices that have a profile, in the order of the ICCIDs.
 * @throws {Failure} `no-profiles` or `disk`
 */
export function* deviceRecords(directory: string): Generator<DeviceRecord> {
  for (const name of readUsed(directory)) {
    const text = readSafely(directory, name)
    const device = deviceIn(text)
    if (device === undefined) continue
    const { station, claimed, iccid } = JSON.parse(text)
    yield {
      device,
      station: textOf(station),
      claimed: textOf(claimed),
      iccid: iccidDigits(textOf(iccid)) ?? '',
    }
  }
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : '')

/** The text of a used file; empty if it can't be read. */
function readSafely(directory: string, name: string): string {
  try {
    return readProfile(directory, name) ?? ''
  } catch {
    return ''
  }
}
