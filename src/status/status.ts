import { Failure, type Fault } from '../failure.ts'
import { readKey } from '../key/private-key.ts'
import { wrongKey } from '../key/wrong-key.ts'
import { whyNoProfile } from '../store/names.ts'
import { whyNone } from '../store/read.ts'
import { type Messages, several } from '../words.ts'
import { type Checked, checkProfiles, opensNone } from './check.ts'
import { countFiles } from './count.ts'
import { DEVICE_FIELDS, readRecords, warnOfSeveral, warnOfUnreadable } from './devices.ts'
import { type Output, PRINTERS, printList } from './print.ts'
import { warnOfTransit, warnOfUnfinished } from './unfinished.ts'
import { warnOfEach } from './warn.ts'

export type { Format } from './print.ts'

/** Why files can't be used. */
const FAULTS: Record<Fault, string> = {
  damaged: 'damaged',
  unreadable: "can't be read",
  locked: 'not decrypted by the key',
  unfit: 'rejected by a device',
  held: 'open in another program',
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
  const key = keyPath === undefined ? undefined : readKey(keyPath, inquiry.passphrase, messages)
  const { counts, iccids, unfinished, inTransit, notProfiles } = countFiles(directory)
  const printer = PRINTERS[inquiry.format]
  if (inquiry.devices) {
    const { devices, withoutDevice, unreadable } = readRecords(directory)
    await printList(inquiry, DEVICE_FIELDS, devices)
    warnOfSeveral(devices, messages)
    warnOfUnreadable(unreadable, messages)
    const moved = counts.moved + counts.inTransit
    const others = withoutDevice - moved
    if (others > 0) messages.tell(0, `${several(others, 'used profile')} without a device`)
    if (moved > 0) messages.tell(0, `${several(moved, 'profile')} moved to other directories, or in transit`)
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
  warnOfTransit(inTransit, messages)
  warnOfEach(messages, notProfiles, {
    words: (name) => `${name} is no profile: ${whyNoProfile(name)}`,
    more: () => `${counts.notProfiles} files are no profiles`,
  })
  // Stations may have taken all of them since they were counted.
  if (counts.unused === 0 || checked?.checked === 0) {
    throw new Failure(whyNone(directory, counts.used, counts.moved > 0), `no unused profile in ${directory}`)
  }
  if (checked === undefined) return
  if (key !== undefined && opensNone(checked)) throw wrongKey(key, checked.faults.locked, false)
  const { held, unreadable } = checked.faults
  if (checked.usable === 0 && unreadable > 0) {
    const what = several(unreadable, 'unused profile')
    throw new Failure('unreadable', `${what} in ${directory} can't be read`, checked.unread)
  }
  if (checked.usable === 0 && held === checked.checked) {
    const facts = { kind: 'all-held', claims: false } as const
    throw new Failure(facts, `other programs have all unused profiles in ${directory} open`)
  }
  if (checked.usable === 0)
    throw new Failure('none-checked-usable', `none of the checked profiles in ${directory} can be used`)
  for (const fault of Object.keys(FAULTS) as Fault[]) {
    const count = checked.faults[fault]
    if (count > 0) messages.warn(`${several(count, 'file')} ${FAULTS[fault]}`, fault)
  }
}
