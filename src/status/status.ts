import { Failure, type Fault } from '../failure.ts'
import { readKey } from '../key/key-file.ts'
import { wrongKey } from '../key/wrong-key.ts'
import { whereElse } from '../store/read.ts'
import { type Messages, several } from '../words.ts'
import { type Checked, checkProfiles, opensNone } from './check.ts'
import { countFiles } from './count.ts'
import { type DeviceRecord, devicesWithSeveral, readRecords } from './devices.ts'
import { type Format, PRINTERS } from './print.ts'

export type { Format } from './print.ts'

const MOST_WARNINGS = 20

/** What to do with the files that can't be used, if others can. */
const ADVICE: Record<Fault, string> = {
  damaged:
    'damaged: move such files out of the directory, unless a device has them, and ask the service provider about their ICCIDs',
  locked:
    'not decrypted by the key: move such files to a directory of their own, for the key that they were fetched with',
  unfit: 'rejected by a device: move such files out of the directory, and tell the service provider',
  held: 'open in another program: close it',
}

export interface Inquiry {
  readonly directory: string
  /** The file of the private key. If given, unused profiles are opened and checked. */
  readonly keyPath: string | undefined
  readonly passphrase: string | undefined
  /** How many profiles to check at most. */
  readonly count: number
  /** List the devices that have a profile. */
  readonly devices: boolean
  readonly format: Format
  readonly messages: Messages
  readonly progress: { follow(line: () => string): void }
  readonly print: (text: string) => Promise<void>
}

/**
 * Prints what is in a directory, and changes nothing.
 * @throws {Failure} after printing: `no-profiles` if none is unused, `key`, `unusable` or `disk` if none can be used; before it,
 *   if the key or the directory can't be read
 */
export async function showStatus(inquiry: Inquiry): Promise<void> {
  const { directory, keyPath, messages, progress, print } = inquiry
  const key = keyPath === undefined ? undefined : readKey(keyPath, inquiry.passphrase)
  const { counts, iccids, unfinished, inTransit } = countFiles(directory)
  const printer = PRINTERS[inquiry.format]
  if (inquiry.devices) {
    const { devices, withoutDevice, unreadable } = readRecords(directory)
    for (const lines of chunks(printer.devices(devices))) await print(lines)
    warnOfSeveral(devices, messages)
    for (const each of unreadable.slice(0, MOST_WARNINGS)) messages.warn(each)
    if (unreadable.length > MOST_WARNINGS)
      messages.warn(`${unreadable.length - MOST_WARNINGS} more files are left out`)
    if (withoutDevice > 0) {
      messages.tell(0, `${several(withoutDevice, 'used profile')} without a device`)
    }
    return
  }
  let checked: Checked | undefined
  if (key !== undefined) {
    const total = several(Math.min(inquiry.count, iccids.length), 'profile')
    let done = 0
    progress.follow(() => `${done} of ${total} checked`)
    const onProgress = (now: number) => {
      done = now
    }
    checked = await checkProfiles({ directory, iccids, most: inquiry.count, key, messages, onProgress })
  }
  await print(printer.status(directory, counts, checked))
  warnOfUnfinished(unfinished, messages)
  warnOfTransit(inTransit, messages)
  // Stations may have taken all of them since they were counted.
  if (counts.unused === 0 || checked?.checked === 0) {
    throw new Failure('no-profiles', `no unused profile in ${directory}`, {
      hint:
        counts.used > 0
          ? 'all profiles in it are used; fetch more: see softsim help fetch'
          : whereElse(directory),
    })
  }
  if (checked === undefined) return
  if (key !== undefined && opensNone(checked)) throw wrongKey(key, checked.faults.locked)
  if (checked.usable === 0 && checked.faults.held === checked.checked) {
    throw new Failure('disk', `other programs have all unused profiles in ${directory} open`, {
      hint: 'close them, or exclude the directory from virus scans and backups',
    })
  }
  if (checked.usable === 0) {
    throw new Failure('unusable', `none of the checked profiles in ${directory} can be used`, {
      hint: 'the warnings say why, file by file',
    })
  }
  for (const [fault, count] of Object.entries(checked.faults))
    if (count > 0) messages.warn(`${several(count, 'file')} ${ADVICE[fault as Fault]}`)
}

/** A killed call leaves both files. Moved apart, they would give one profile to two devices. */
function warnOfUnfinished(names: readonly string[], messages: Messages): void {
  for (const name of names.slice(0, MOST_WARNINGS))
    messages.warn(`${name}: a call is claiming it, or was killed while it did; do not move it`)
  const more = names.length - MOST_WARNINGS
  if (more > 0) messages.warn(`${more} more claims are not finished`)
}

function warnOfTransit(inTransit: ReadonlyMap<string, string>, messages: Messages): void {
  for (const to of new Set(inTransit.values()))
    messages.warn(`a move to ${to} is not finished: run the same command again`)
}

function warnOfSeveral(devices: readonly DeviceRecord[], messages: Messages): void {
  const found = devicesWithSeveral(devices)
  for (const [device, iccids] of found.slice(0, MOST_WARNINGS)) {
    messages.warn(
      `device ${device} has ${iccids.length} profiles: ${iccids.join(', ')}; find out which one it uses`,
    )
  }
  const more = found.length - MOST_WARNINGS
  if (more > 0) messages.warn(`${more} more devices have several profiles`)
}

/** Joins lines, so that a long list takes few writes. */
function* chunks(lines: Iterable<string>): Generator<string> {
  let text = ''
  for (const line of lines) {
    text += line
    if (text.length < 64 * 1024) continue
    yield text
    text = ''
  }
  yield text
}
