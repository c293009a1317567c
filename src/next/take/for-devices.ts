import { Failure, reasonOf, UnusableProfile } from '../../failure.ts'
import { type Decrypt, decryptor } from '../../key/decrypt.ts'
import { pause } from '../../pause.ts'
import { usedText } from '../../store/claim.ts'
import { keyOfName } from '../../store/claim-place.ts'
import { settle } from '../../store/create.ts'
import { type Assignment, alikeWords, historyOf, recordAll } from '../../store/devices.ts'
import { fileName, keyOf, parseName } from '../../store/names.ts'
import { removeTwin, useAt } from '../../store/profile-state.ts'
import { checkDirectory } from '../../store/read.ts'
import { tombstoneIn } from '../../store/used-file.ts'
import {
  beforeClaim,
  notHandedOut,
  type Ready,
  readyFrom,
  type Source,
  type Taken,
  Undelivered,
} from '../ready.ts'
import { chooseFor, LookUp, orNot } from './by-iccid.ts'
import { Search, type Wanted } from './search.ts'

/** Other calls for the same devices may be in between. Each of them needs few steps. */
const TRIES = 100
const PAUSE_MS = 20

/** The profile that a device has, or that only it may get, ready to be printed. */
interface Assigned extends Wanted {
  readonly use: Assignment['use']
}

/** Which of the devices have a record, and how many records the others have. */
interface Known {
  readonly assigned: ReadonlyMap<string, Assigned>
  readonly unassigned: ReadonlyMap<string, number>
  /** Of each device: those with a profile that differ in case only. */
  readonly alike: ReadonlyMap<string, readonly string[]>
}

/** What a call may do for its devices. */
export interface Terms {
  /** The profile that the only device is to get, unless it has it. */
  readonly iccid?: string | undefined
  /** Whether no device may have a profile before. */
  readonly isNew?: boolean | undefined
}

/**
 * Returns the profile of each device, in their order: the one that the device has, or the next unused one. What is
 * recorded here belongs to its device even if the call fails: the next call for the device prints it.
 * @throws {Failure} `has-profile`, `others-profile`, `no-profiles`, `unusable`, `key` or `disk`; in each case, nothing is claimed
 * @throws {Undelivered} if it failed when some devices had got their profiles
 */
export async function takeForDevices(
  source: Source,
  devices: readonly string[],
  terms: Terms = {},
): Promise<Taken> {
  const { directory, messages, signals } = source
  const decrypt = await decryptor(source.key, devices.length)
  const search = new Search(source, decrypt)
  const had = new Map<string, Ready>()
  let fresh: Ready[] = []
  const own = new Set<string>()
  const alikes = new Map<string, readonly string[]>()
  const device = devices[0] ?? ''
  const look = new LookUp(directory, terms.iccid ?? '', device)
  const gather = async (count: number): Promise<Ready[]> => {
    const { iccid } = terms
    if (iccid === undefined || count === 0) return search.gather(count, had.size > 0)
    return [await chooseFor(source, decrypt, device, look)].filter((each) => each !== undefined)
  }
  try {
    for (let tries = TRIES; had.size < devices.length; tries--) {
      if (tries < TRIES) pause(PAUSE_MS)
      const waiting = devices.filter((device) => !had.has(device))
      const { assigned, unassigned, alike } = await knownOf(source, decrypt, waiting)
      for (const [device, others] of alike) alikes.set(device, others)
      if (tries === 0)
        throw new Failure('being-claimed', `another call is claiming the profile of device ${waiting[0]}`)
      for (const [device, { ready, text }] of assigned)
        if ((terms.isNew && !own.has(text)) || ready.iccid !== (terms.iccid ?? ready.iccid))
          throw new Failure('has-profile', `device ${device} already has ${ready.iccid}`)
      if (terms.iccid !== undefined) fresh = []
      for (const each of await gather(unassigned.size - fresh.length)) fresh.push(each)
      if (fresh.length < unassigned.size) {
        if (terms.iccid !== undefined) continue
        // Another call for one of them may have taken the last profile.
        if (tries > 0 && [...unassigned.keys()].some((device) => hasProfile(directory, device))) continue
        throw search.tooFew(devices.length, devices.length - unassigned.size + fresh.length)
      }
      if (had.size === 0) beforeClaim(signals)
      const wanted = [...unassigned].map(([device, records], at) => {
        const ready = { ...(fresh[at] as Ready), device }
        return { device, records, ready, text: usedText(ready, device) }
      })
      const recorded = await recordWanted(directory, wanted)
      for (const { text } of recorded) own.add(text)
      fresh = fresh.filter(({ name }) => !recorded.some(({ ready }) => ready.name === name))
      for (const [device, { ready, use }] of assigned) {
        if (use.state === 'claimed') onDisk(device, () => settle(directory, keyOfName(ready.name)))
        if (use.state !== 'used') continue
        onDisk(device, () => removeTwin(directory, use))
        had.set(device, { ...ready, isAgain: true })
      }
      const begun = [...assigned.values()].filter(({ use }) => use.state === 'unused' || use.state === 'gone')
      for (const ready of await search.claim([...recorded, ...begun])) had.set(ready.device ?? '', ready)
    }
    const taken = devices.map((device) => had.get(device) as Ready)
    for (const { iccid, device } of taken.filter((each) => each.isAgain))
      messages.warn(`device ${device} already has ${iccid}; printing the same profile again`)
    for (const [device, others] of alikes) messages.warn(alikeWords(device, others))
    search.skipped.warn(messages)
    return { taken, left: search.queue.left }
  } catch (error) {
    search.giveUp(error)
    const also = error instanceof Undelivered ? error.taken : []
    const claimed = [...[...had.values()].filter(({ isAgain }) => !isAgain), ...also]
    if (claimed.length === 0) throw error
    throw new Undelivered(claimed, error instanceof Undelivered ? error.cause : error)
  }
}

/** @throws {Failure} */
async function knownOf(source: Source, decrypt: Decrypt, devices: readonly string[]): Promise<Known> {
  const assigned = new Map<string, Assigned>()
  const unassigned = new Map<string, number>()
  const alikes = new Map<string, readonly string[]>()
  for (const device of devices) {
    const { assignment, records, alike } = onDisk(device, () => historyOf(source.directory, device))
    if (alike.length > 0) alikes.set(device, alike)
    if (assignment === undefined) unassigned.set(device, records)
    else assigned.set(device, await assignedFrom(source, decrypt, device, assignment))
  }
  return { assigned, unassigned, alike: alikes }
}

async function assignedFrom(
  source: Source,
  decrypt: Decrypt,
  device: string,
  { name, text, use }: Assignment,
): Promise<Assigned> {
  // Its file was moved or deleted. Whether somebody has the profile is not known.
  if (use.state === 'gone' && !onDisk(device, () => isToComeAnew(source.directory, name))) {
    // If the directory itself is missing, report that instead.
    checkDirectory(source.directory)
    throw new Failure(
      { kind: 'file-gone', name },
      `device ${device} was assigned the profile of ${name}, and that file is gone`,
    )
  }
  // Somebody may have given the used file another spelling.
  const ready = readyFrom(source, decrypt, use.state === 'used' ? use.name : name, text)
  return {
    ready: { ...(await orNot(source, `the profile of device ${device}`, ready)), device },
    text,
    use: use.state === 'torn' ? usedBy(name, text) : use,
  }
}

/** A call was killed that had recorded a profile, marked used by nobody known, under its next number. */
function isToComeAnew(directory: string, name: string): boolean {
  const { digits = '', number = 1 } = parseName(name) ?? {}
  if (number === 1) return false
  const before = useAt(directory, fileName(keyOf({ digits, number: number - 1 })))
  return before.state === 'torn' || (before.state === 'used' && tombstoneIn(before.text) === undefined)
}

/** The record has all that a torn used file lacks. */
const usedBy = (name: string, text: string) => ({ state: 'used', name, text, isTwin: false }) as const

const hasProfile = (directory: string, device: string) =>
  onDisk(device, () => historyOf(directory, device)).assignment !== undefined

/**
 * @returns those that are recorded now
 * @throws {Failure} `not-recorded`; what is recorded by then stays the device's
 */
async function recordWanted<T extends Wanted & { readonly device: string; readonly records: number }>(
  directory: string,
  wanted: readonly T[],
): Promise<T[]> {
  const outcomes = await recordAll(directory, wanted).catch((error) => {
    throw notRecorded(wanted[0]?.device ?? '', error)
  })
  for (const [at, outcome] of outcomes.entries())
    if ('error' in outcome) throw notRecorded(wanted[at]?.device ?? '', outcome.error)
  return wanted.filter((_, at) => outcomes[at]?.state === 'ours')
}

const notRecorded = (device: string, error: unknown) =>
  new Failure('not-recorded', `can't record which profile device ${device} has: ${reasonOf(error)}`, error)

/** @throws {Failure} */
function onDisk<T>(device: string, action: () => T): T {
  try {
    return action()
  } catch (error) {
    if (error instanceof Failure) throw error
    if (error instanceof UnusableProfile) throw notHandedOut(`the profile of device ${device}`, error)
    throw notRecorded(device, error)
  }
}
