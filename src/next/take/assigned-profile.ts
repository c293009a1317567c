import { Failure, reasonOf, UnusableProfile } from '../../failure.ts'
import { pause } from '../../pause.ts'
import { begin } from '../../store/claim/claim.ts'
import { settleOne } from '../../store/claim/settle.ts'
import { createFrom, removeDraft, writeDraft } from '../../store/devices/draft.ts'
import { type Assignment, historyOf, namesDevice } from '../../store/devices/history.ts'
import { completeFor, isCompletable } from '../../store/devices/record.ts'
import { repair } from '../../store/devices/repair.ts'
import { notHandedOut, type Ready, type Source } from '../ready.ts'

/** Another call may be claiming the profile, after a power cut that left only the record of the device. */
const UNSETTLED_TRIES = 20
const UNSETTLED_PAUSE_MS = 50

/** The profile that a device has, ready to be printed. */
export interface AssignedProfile {
  readonly text: string
  readonly ready: Ready
}

/**
 * Completes the claim of the profile that a device has, if a killed call did not.
 * @returns undefined if another tool has taken the profile
 * @throws {Failure} `disk` or `no-profiles`
 */
export function settleAssigned(source: Source, device: string, assigned: AssignedProfile): Ready | undefined {
  const { directory, messages } = source
  const { text, ready } = assigned
  for (let tries = UNSETTLED_TRIES; ; tries--) {
    const { assignment } = onDisk(device, ready.name, () => historyOf(directory, device))
    if (assignment?.text !== text) return undefined
    const { name, use } = assignment
    if (namesDevice(assignment) && onDisk(device, name, () => isCompletable(directory, assignment))) {
      const outcome = onDisk(device, name, () => completeFor(directory, assignment))
      if (outcome !== 'lost') return { ...ready, isAgain: outcome === 'had' }
    } else if (use.state === 'unused' && beginAgain(directory, assignment)) continue
    else if (use.state === 'begun' && onDisk(device, name, () => repair(directory, assignment))) continue
    else if (tries < 0) throw unsettled(assignment)
    else if (tries === 0) settleOne(directory, name, messages)
    else pause(UNSETTLED_PAUSE_MS)
  }
}

/** After a power cut, the record may be all that is left of a claim. An earlier version also recorded it first. */
function beginAgain(directory: string, { device, name, text }: Assignment): boolean {
  return onDisk(device, name, () => {
    const draft = writeDraft(directory, text)
    try {
      return begin(directory, name, (path) => createFrom(draft, path))
    } finally {
      removeDraft(draft)
    }
  })
}

const unsettled = ({ device, name, path, use }: Assignment) =>
  use.state === 'gone'
    ? // Its file was moved or deleted. Whether the device has the profile is not known.
      new Failure(
        { kind: 'file-gone', name, record: path },
        `device ${device} was assigned the profile of ${name}, and that file is gone`,
      )
    : new Failure('being-claimed', `another call is claiming ${name}, which device ${device} was assigned`)

/**
 * @param name the profile that may stay marked as used
 * @throws {Failure}
 */
export function onDisk<T>(device: string, name: string | undefined, action: () => T): T {
  try {
    return action()
  } catch (error) {
    if (error instanceof Failure) throw error
    if (error instanceof UnusableProfile && name === undefined)
      throw notHandedOut(`the profile of device ${device}`, error)
    const which = name === undefined ? 'which profile device' : `${name} for device`
    const has = name === undefined ? ' has' : ''
    throw new Failure('not-recorded', `can't record ${which} ${device}${has}: ${reasonOf(error)}`, error)
  }
}
