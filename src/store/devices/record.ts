import { writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { errnoOf, UnusableProfile } from '../../failure.ts'
import { iccidDigits } from '../../profile/iccid.ts'
import { isExisting, release } from '../claim/claim.ts'
import { decide } from '../claim/take-over.ts'
import { deviceIn, isTakenOver, useOf } from '../claim/use.ts'
import { flushDirectorySync } from '../flush/directory.ts'
import { flushPathSync } from '../flush/files.ts'
import { spellings } from '../names.ts'
import { patiently } from '../patience.ts'
import { readProfile } from '../read.ts'
import { removeIfThere, tryToRemove } from '../remove.ts'
import { fileRights, rightsOf } from '../rights.ts'
import { createFrom, type Draft, removeDraft, writeDraft } from './draft.ts'
import { begunPath, pathOf } from './file-names.ts'
import { type Assignment, type History, historyOf, namesDevice, readRecord } from './history.ts'

/** In gocryptfs, a file that another call removes at this moment is missing, although it would be created. */
const NOTE_TRIES = 5

/**
 * Records a profile for a device. If another call for the device was first, the claim is released.
 * @param draft of the used file, which this call has begun
 * @param records how many records of the device name profiles that somebody else uses
 * @returns the assignment, if the device has this profile now
 * @throws {Failure} `disk`
 * @throws the system error
 */
export function record(
  directory: string,
  { device, name }: Pick<Assignment, 'device' | 'name'>,
  draft: Draft,
  records: number,
): Assignment | undefined {
  const path = pathOf(directory, device, records + 1)
  const { text } = draft
  try {
    createFrom(draft, path)
  } catch (error) {
    // Not released: another call for the device may be completing the claim. If not, the next one does.
    if (!isExisting(error, path)) throw error
    // Another call may have recorded the same profile, in place of this one.
    if (readRecord(directory, device, path, name) !== text) {
      release(directory, name, (used) => text.startsWith(used))
      return undefined
    }
  }
  return { device, name, text, path, use: useOf(directory, name) }
}

/**
 * Notes which profile a call for a device is about to begin to claim, for the case that it is killed before it records
 * that.
 * @throws the system error
 */
export function noteBegun(directory: string, device: string, name: string, tries = NOTE_TRIES): void {
  const mode = fileRights(rightsOf(directory))
  try {
    patiently(() => writeFileSync(begunPath(directory, device), name, { mode }))
  } catch (error) {
    if (tries <= 1 || errnoOf(error) !== 'ENOENT') throw error
    noteBegun(directory, device, name, tries - 1)
  }
}

/**
 * As `historyOf`, after recording what a killed call for the device had begun to claim.
 * @throws as `historyOf`
 */
export function historyNow(directory: string, device: string): History {
  const history = historyOf(directory, device)
  return history.assignment === undefined && recordBegun(directory, device, history.records)
    ? historyOf(directory, device)
    : history
}

/** @returns false if there is nothing to record */
function recordBegun(directory: string, device: string, records: number): boolean {
  const path = begunPath(directory, device)
  const name = readProfile(dirname(path), basename(path))
  if (name === undefined || iccidDigits(name.replace(/\.json$/, '')) === undefined) return false
  const use = useOf(directory, name)
  if (use.state !== 'used' || use.unused === undefined || deviceIn(use.text) !== device) return false
  // Not before the used file was found complete: whoever takes the claim over looks at it once more after that.
  if (isTakenOver(directory, name)) return false
  recordAgain(directory, pathOf(directory, device, records + 1), use.text)
  return true
}

/** Creates the record that a killed call did not create, unless there is one. */
function recordAgain(directory: string, path: string, text: string): void {
  const draft = writeDraft(directory, text)
  try {
    createFrom(draft, path)
  } catch (error) {
    if (!isExisting(error, path)) throw error
  } finally {
    removeDraft(draft)
  }
}

/**
 * Completes the claim of a device's profile: flushes the used file and the record, and removes the unused file. The claim
 * is durable once the directory is flushed.
 * @returns `had` if it was complete before, `lost` if a tool that only renames took the profile
 * @throws the system error
 */
export function completeFor(directory: string, { device, name, path, use }: Assignment): Outcome {
  if (use.state === 'used' && use.unused !== undefined) {
    // The record first: alone, it claims the profile again; a used file alone would set it aside.
    flushPathSync(path)
    flushDirectorySync(dirname(path))
    flushPathSync(join(directory, use.used))
  }
  const isRemoved = patiently(() => removeIfThere(join(directory, name)))
  // What is recorded applies, whatever the note says.
  tryToRemove(begunPath(directory, device))
  const now = useOf(directory, name)
  if (now.state !== 'used' || deviceIn(now.text) !== device) return 'lost'
  return isRemoved ? 'completed' : 'had'
}

export type Outcome = 'completed' | 'had' | 'lost'

/**
 * Settles a used file that names a device beside the unused one: the call was killed before it completed its claim.
 * @param isTaken whether the claim is taken over, by this call or by one that was killed
 * @returns false if the device has another profile, as only the call that began the claim may release it, or if another
 *   call has taken the claim over
 * @throws as `historyOf`
 */
export function settleFor(directory: string, name: string, text: string, isTaken = false): boolean {
  const device = deviceIn(text)
  if (device === undefined) return false
  if (!isTaken && isTakenOver(directory, name)) return false
  const { assignment, records } = historyOf(directory, device)
  if (assignment === undefined) recordAgain(directory, pathOf(directory, device, records + 1), text)
  const inForce = historyOf(directory, device).assignment
  if (inForce === undefined || !namesDevice(inForce) || !spellings(name).includes(inForce.name)) return false
  // Not before the device has the record: the decision is for ever.
  if (isTaken && !decide(directory, name, 'device')) return false
  return completeFor(directory, inForce) !== 'lost'
}

/**
 * Somebody may have renamed a used file back by hand. Its record still assigns it to the device.
 * @param text of an unused file
 * @throws {UnusableProfile} `damaged` if it names a device
 */
export function refuseAssigned(text: string): void {
  const device = deviceIn(text)
  if (device === undefined) return
  throw new UnusableProfile('damaged', `device ${device} has it, and only that device can get it again`)
}

/**
 * Whether the claim of the profile of a device can be completed: no call that is not for the device has taken it over.
 * @throws {Failure} `disk` if nobody can tell
 */
export const isCompletable = (directory: string, { name, use }: Assignment) =>
  use.unused === undefined || !isTakenOver(directory, name) || decide(directory, name, 'device')
