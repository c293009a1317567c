import { Failure, type Fault } from '../failure.ts'
import { readKey } from '../key/key-file.ts'
import { wrongKey } from '../key/wrong-key.ts'
import { whereElse } from '../store/read.ts'
import { type Messages, several } from '../words.ts'
import { type Checked, checkProfiles, opensNone } from './check.ts'
import { countFiles } from './count.ts'
import { DEVICE_FIELDS, readRecords, warnOfSeveral, warnOfUnreadable } from './devices.ts'
import { type Output, PRINTERS, printList } from './print.ts'
import { warnOfUnfinished } from './unfinished.ts'

export type { Format } from './print.ts'

/** What to do with the files that can't be used, if others can. */
const ADVICE: Record<Fault, string> = {
  damaged:
    'damaged: move such files out of the directory, unless a device has them, and ask the service provider about their ICCIDs',
  locked:
    'not decrypted by the key: move such files to a directory of their own, for the key that they were fetched with',
  unfit: 'rejected by a device: move such files out of the directory, and tell the service provider',
  held: 'open in another program: close it',
}

export interface Inquiry extends Output {
  readonly directory: string
  /** The file of the private key. If given, unused profiles are opened and checked. */
  readonly keyPath: string | undefined
  readonly passphrase: string | undefined
  /** How many profiles to check at most. */
  readonly count: number
  /** List the devices that have a profile. */
  readonly devices: boolean
  readonly messages: Messages
  readonly progress: { follow(line: () => string): void }
}

/**
 * Prints what is in a directory, and changes nothing.
 * @throws {Failure} after printing: `no-profiles` if none is unused, `key`, `unusable` or `disk` if none can be used; before it,
 *   if the key or the directory can't be read
 */
export async function showStatus(inquiry: Inquiry): Promise<void> {
  const { directory, keyPath, messages, progress, print } = inquiry
  const key = keyPath === undefined ? undefined : readKey(keyPath, inquiry.passphrase)
  const { counts, iccids, unfinished } = countFiles(directory)
  const printer = PRINTERS[inquiry.format]
  if (inquiry.devices) {
    const { devices, withoutDevice, unreadable } = readRecords(directory)
    await printList(inquiry, DEVICE_FIELDS, devices)
    warnOfSeveral(devices, messages)
    warnOfUnreadable(unreadable, messages)
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
  warnOfUnfinished(directory, unfinished, messages)
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
