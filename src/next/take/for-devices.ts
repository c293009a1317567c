import { Failure, reasonOf, remedyFor, UnusableProfile } from '../../failure.ts'
import { type Decrypt, decryptor } from '../../key/decrypt.ts'
import { begin } from '../../store/claim.ts'
import {
  type Assignment,
  completeFor,
  createFrom,
  type History,
  historyOf,
  isCompletable,
  isOwn,
  noteBegun,
  record,
  recordBegun,
  removeDraft,
  repair,
  textFor,
  writeDraft,
} from '../../store/devices.ts'
import { pause } from '../../store/patience.ts'
import { beforeClaim } from '../deliver.ts'
import { notHandedOut, type Ready, readyFrom, type Source, type Taken, Undelivered } from '../ready.ts'
import { Search } from './search.ts'

/** Another call may be claiming the profile, after a power cut that left only the record of the device. */
const UNSETTLED_TRIES = 20
const UNSETTLED_PAUSE_MS = 50

/** The profile that a device has, ready to be printed. */
interface Own {
  readonly text: string
  readonly ready: Ready
}

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
      const { owned, without } = await ownOfAll(source, decrypt, waiting)
      fresh.push(...(await search.gather(without.size - fresh.length)))
      if (fresh.length < without.size) {
        // Another call for one of them may have taken the last profile.
        if ([...without.keys()].some((device) => hasProfile(directory, device))) continue
        throw search.tooFew(devices.length, devices.length - without.size + fresh.length)
      }
      beforeClaim(signals)
      for (const [device, turns] of without)
        noteHad(had, device, claimNew(search, source, { device, turns }, fresh))
      for (const [device, own] of owned) noteHad(had, device, settleOwn(source, device, own))
    }
    const taken = devices.map((device) => had.get(device) as Ready)
    for (const { iccid, device } of taken.filter((each) => each.isAgain))
      messages.warn(`device ${device} already has ${iccid}; printing the same profile again`)
    search.passedOver.warn(messages)
    return { taken, left: search.queue.left }
  } catch (error) {
    if (error === search.shortage) search.passedOver.warn(messages)
    search.queue.giveBack()
    const claimed = [...had.values()].filter(({ isAgain }) => !isAgain)
    throw claimed.length > 0 ? new Undelivered(claimed, error) : error
  }
}

function noteHad(had: Map<string, Ready>, device: string, ready: Ready | undefined): void {
  if (ready !== undefined) had.set(device, { ...ready, device })
}

/**
 * @returns the devices that have a profile, and for each of the others how many records it has
 * @throws {Failure}
 */
async function ownOfAll(
  source: Source,
  decrypt: Decrypt,
  devices: readonly string[],
): Promise<{ owned: Map<string, Own>; without: Map<string, number> }> {
  const owned = new Map<string, Own>()
  const without = new Map<string, number>()
  for (const device of devices) {
    const { assignment, turns } = onDisk(device, undefined, () => historyNow(source.directory, device))
    if (assignment === undefined) {
      without.set(device, turns)
      continue
    }
    const { name, text } = assignment
    try {
      owned.set(device, { text, ready: await readyFrom(source, decrypt, name, text) })
    } catch (error) {
      throw error instanceof UnusableProfile ? notHandedOut(`the profile of device ${device}`, error) : error
    }
  }
  return { owned, without }
}

function historyNow(directory: string, device: string): History {
  const history = historyOf(directory, device)
  return history.assignment === undefined && recordBegun(directory, device, history.turns)
    ? historyOf(directory, device)
    : history
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
  { device, turns }: { device: string; turns: number },
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
    assignment = onDisk(device, name, () => record(directory, { device, name }, draft, turns))
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

/**
 * Completes the claim of the profile that a device has, if a killed call did not.
 * @returns undefined if another tool has taken the profile
 * @throws {Failure} `disk` or `no-profiles`
 */
function settleOwn({ directory }: Source, device: string, { text, ready }: Own): Ready | undefined {
  for (let tries = UNSETTLED_TRIES; ; tries--) {
    const { assignment } = onDisk(device, undefined, () => historyOf(directory, device))
    if (assignment?.text !== text) return undefined
    if (isOwn(assignment) && onDisk(device, assignment.name, () => isCompletable(directory, assignment))) {
      const outcome = onDisk(device, assignment.name, () => completeFor(directory, assignment))
      if (outcome !== 'lost') return { ...ready, isAgain: outcome === 'had' }
    } else if (assignment.use.state === 'unused' && beginAgain(directory, assignment)) continue
    else if (
      assignment.use.state === 'begun' &&
      onDisk(device, assignment.name, () => repair(directory, assignment, tries > 0))
    )
      continue
    else if (tries <= 0) throw unsettled(assignment)
    else pause(UNSETTLED_PAUSE_MS)
  }
}

/** After a power cut, the record may be all that is left of a claim. Versions before 1.1.0 also recorded it first. */
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
        'no-profiles',
        `device ${device} was assigned the profile of ${name}, and that file is gone`,
        {
          hint: `put ${name} or its used file back; if the device has no profile, delete ${path} to give it another one`,
        },
      )
    : new Failure('no-profiles', `another call is claiming ${name}, which device ${device} was assigned`, {
        hint: 'run the same command again, after a minute if that call was killed',
      })

/**
 * @param name the profile that may stay marked as used
 * @throws {Failure}
 */
function onDisk<T>(device: string, name: string | undefined, action: () => T): T {
  try {
    return action()
  } catch (error) {
    if (error instanceof Failure) throw error
    if (error instanceof UnusableProfile && name === undefined)
      throw notHandedOut(`the profile of device ${device}`, error)
    const which = name === undefined ? 'which profile device' : `${name} for device`
    const has = name === undefined ? ' has' : ''
    throw new Failure('disk', `can't record ${which} ${device}${has}: ${reasonOf(error)}`, {
      hint: `${remedyFor(error)}, then run the same command again`,
      cause: error,
    })
  }
}
