import { UnusableProfile } from '../../failure.ts'
import { type Decrypt, decryptor } from '../../key/decrypt.ts'
import { createFrom, removeDraft, textFor, writeDraft } from '../../store/devices/draft.ts'
import type { Assignment } from '../../store/devices/history.ts'
import { completeFor, historyNow, noteBegun, record } from '../../store/devices/record.ts'
import {
  beforeClaim,
  notHandedOut,
  type Ready,
  readyFrom,
  type Source,
  type Taken,
  Undelivered,
} from '../ready.ts'
import { type AssignedProfile, onDisk, settleAssigned } from './assigned-profile.ts'
import { Search } from './search.ts'

/**
 * Returns the profile of each device, in their order: the one that the device has, or the next unused one. A profile
 * that is recorded here belongs to its device even if the call fails. The next call for the device prints it.
 * @throws {Failure} `no-profiles`, `unusable`, `key` or `disk`; in each case, nothing is claimed
 * @throws {Undelivered} if it failed when some devices had got their profiles
 */
export async function takeForDevices(source: Source, devices: readonly string[]): Promise<Taken> {
  const { directory, messages, signals } = source
  const decrypt = await decryptor(source.key, devices.length)
  const search = new Search(source, decrypt)
  const had = new Map<string, Ready>()
  const fresh: Ready[] = []
  try {
    while (had.size < devices.length) {
      const waiting = devices.filter((device) => !had.has(device))
      const { assigned, unassigned } = await assignedTo(source, decrypt, waiting)
      fresh.push(...(await search.gather(unassigned.size - fresh.length)))
      if (fresh.length < unassigned.size) {
        // Another call for one of them may have taken the last profile.
        if ([...unassigned.keys()].some((device) => hasProfile(directory, device))) continue
        throw search.tooFew(devices.length, devices.length - unassigned.size + fresh.length)
      }
      beforeClaim(signals)
      for (const [device, records] of unassigned)
        noteHad(had, device, claimNew(search, source, { device, records }, fresh))
      for (const [device, each] of assigned) noteHad(had, device, settleAssigned(source, device, each))
    }
    const taken = devices.map((device) => had.get(device) as Ready)
    for (const { iccid, device } of taken.filter((each) => each.isAgain))
      messages.warn(`device ${device} already has ${iccid}; printing the same profile again`)
    search.skipped.warn(messages)
    return { taken, left: search.queue.left }
  } catch (error) {
    search.giveUp(error)
    const claimed = [...had.values()].filter(({ isAgain }) => !isAgain)
    throw claimed.length > 0 ? new Undelivered(claimed, error) : error
  }
}

/**
 * @returns the profiles of the devices that have one, and for each of the other devices how many records it has
 * @throws {Failure}
 */
async function assignedTo(
  source: Source,
  decrypt: Decrypt,
  devices: readonly string[],
): Promise<{ assigned: Map<string, AssignedProfile>; unassigned: Map<string, number> }> {
  const assigned = new Map<string, AssignedProfile>()
  const unassigned = new Map<string, number>()
  for (const device of devices) {
    const { assignment, records } = onDisk(device, undefined, () => historyNow(source.directory, device))
    if (assignment === undefined) {
      unassigned.set(device, records)
      continue
    }
    const { name, text } = assignment
    try {
      assigned.set(device, { text, ready: await readyFrom(source, decrypt, name, text) })
    } catch (error) {
      throw error instanceof UnusableProfile
        ? notHandedOut(`the profile of device ${device}`, error, source.key)
        : error
    }
  }
  return { assigned, unassigned }
}

function noteHad(had: Map<string, Ready>, device: string, ready: Ready | undefined): void {
  if (ready !== undefined) had.set(device, { ...ready, device })
}

const hasProfile = (directory: string, device: string) =>
  onDisk(device, undefined, () => historyNow(directory, device)).assignment !== undefined

/**
 * Claims the first of `fresh` for a device, and takes it from there.
 * @returns undefined if another process has it, or if another call for the device was first
 */
function claimNew(
  search: Search,
  { directory }: Source,
  { device, records }: { device: string; records: number },
  fresh: Ready[],
): Ready | undefined {
  const ready = fresh.shift()
  if (ready === undefined) return undefined
  const { name } = ready
  const draft = onDisk(device, undefined, () => writeDraft(directory, textFor(device, ready)))
  let assignment: Assignment | undefined
  try {
    onDisk(device, undefined, () => noteBegun(directory, device, name))
    if (!search.begin(ready, (path) => createFrom(draft, path)) || search.isLost(ready)) return undefined
    assignment = onDisk(device, name, () => record(directory, { device, name }, draft, records))
  } finally {
    removeDraft(draft)
  }
  if (assignment === undefined) {
    // It is released.
    fresh.unshift(ready)
    return undefined
  }
  const outcome = onDisk(device, assignment.name, () => completeFor(directory, assignment))
  // Another call for the device may have completed the claim.
  if (outcome !== 'lost') return { ...ready, isAgain: outcome === 'had' }
  search.noteLost(name)
  return undefined
}
