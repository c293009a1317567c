import { join } from 'node:path'
import { Failure, reasonOf, UnusableProfile } from '../../failure.ts'
import { type Decrypt, decryptor } from '../../key/decrypt.ts'
import { pause } from '../../pause.ts'
import { anew, claimable, usedText } from '../../store/claim.ts'
import { comingKey, keyOfName } from '../../store/claim-place.ts'
import { settle } from '../../store/create.ts'
import { historyOf, recordedIccids } from '../../store/devices.ts'
import { removeIfThere } from '../../store/directory-entries.ts'
import { parseName } from '../../store/names.ts'
import { patiently } from '../../store/patience.ts'
import { removeTwin, type Use, useOf } from '../../store/profile-state.ts'
import { checkDirectory } from '../../store/read.ts'
import { deviceIn, fieldsOf, type Tombstone, tombstoneIn } from '../../store/used-file.ts'
import type { Messages } from '../../words.ts'
import {
  beforeClaim,
  makeReady,
  notHandedOut,
  type Ready,
  readyFrom,
  type Source,
  type Taken,
  Undelivered,
} from '../ready.ts'
import { Search } from './search.ts'

/** Another call may be claiming the profile. Each time, it needs few steps more. */
const TRIES = 20
const PAUSE_MS = 50

/**
 * A used profile is read again: a user who gives the ICCID knows which device it is for.
 * @param iccid its digits
 * @throws {Failure} `no-profiles`, `unusable`, `key` or `disk`; in each case, nothing is claimed
 * @throws {Undelivered} if the disk failed, and the profile may be claimed
 */
export async function takeByIccid(source: Source, iccid: string): Promise<Taken> {
  const decrypt = await decryptor(source.key, 1)
  const look = new LookUp(source.directory, iccid)
  for (let tries = TRIES; tries > 0; tries--) {
    const ready = await onDisk(iccid, () => takeNow(source, decrypt, look))
    if (ready !== undefined) return { taken: [ready] }
    pause(PAUSE_MS)
  }
  throw busy(iccid)
}

/** One call's looks at the profile that it was given. */
export class LookUp {
  readonly iccid: string
  readonly #directory: string
  readonly #device: string | undefined
  #wasOpen = false

  /** @param device the one that is to get it */
  constructor(directory: string, iccid: string, device?: string) {
    this.#directory = directory
    this.iccid = iccid
    this.#device = device
  }

  /**
   * @returns undefined if another call was claiming the profile: that claim is finished now
   * @throws {Failure} `busy-claim` if another call has claimed what was unused at the last look: it prints the profile, too
   */
  look(): Settled | undefined {
    const use = useNow(this.#directory, this.iccid)
    const isMoved = use.state === 'used' && tombstoneIn(use.text) !== undefined
    const isOwn = use.state === 'used' && this.#device !== undefined && deviceIn(use.text) === this.#device
    if (use.state === 'used' && this.#wasOpen && !isMoved && !isOwn) throw busy(this.iccid)
    this.#wasOpen ||= use.state === 'unused'
    // It may be about to become complete.
    if (use.state === 'unused') settle(this.#directory, comingKey(use.name))
    if (use.state !== 'claimed') return use
    // A call that failed while it claimed the profile has told how to print it, and may have been right before.
    settle(this.#directory, keyOfName(use.name))
    return undefined
  }
}

/** @throws {Failure} `no-such-profile` */
function useNow(directory: string, iccid: string): Exclude<Use, { state: 'gone' }> {
  const use = useOf(directory, iccid)
  if (use.state !== 'gone') return use
  // If the directory itself is missing, report that instead.
  checkDirectory(directory)
  throw new Failure('no-such-profile', `no profile ${iccid} in ${directory}`)
}

/**
 * Changes nothing.
 * @throws {Failure} if there is no such profile, or if another directory has it
 */
export const checkByIccid = (directory: string, iccid: string): Promise<void> =>
  onDisk(iccid, async () => {
    const use = useNow(directory, iccid)
    const tombstone = use.state === 'unused' ? undefined : tombstoneIn(use.text)
    if (tombstone !== undefined) throw moved(iccid, tombstone)
  })

const busy = (iccid: string) => new Failure('busy-claim', `another call has claimed ${iccid}, or is about to`)

/**
 * A profile for a device that has none: unused, or marked used, and nobody is known to have it.
 * @returns undefined if another call is claiming it
 * @throws {Failure}
 */
export const chooseFor = (source: Source, decrypt: Decrypt, device: string, look: LookUp) =>
  onDisk(look.iccid, () => choose(source, decrypt, device, look))

async function choose(
  source: Source,
  decrypt: Decrypt,
  device: string,
  look: LookUp,
): Promise<Ready | undefined> {
  const { directory, messages } = source
  const use = look.look()
  if (use === undefined) return undefined
  const [{ name }, { iccid }] = [use, look]
  if (use.state === 'unused') {
    const ready = await orNot(source, name, makeReady(source, decrypt, name))
    refuseOthers(iccid, device, ready?.stored ?? '')
    return ready
  }
  const tombstone = tombstoneIn(use.text)
  if (tombstone !== undefined) throw moved(iccid, tombstone)
  if (use.state === 'used' && use.isTwin) {
    // Until then, a tool that only renames could take it.
    removeTwin(directory, use)
    return undefined
  }
  // A call of version 1.1 was killed while it released it.
  const isReleased = isNobodys(directory, iccid, use.text)
  if (!isReleased) refuseOthers(iccid, device, use.text)
  if (!isReleased && deviceIn(use.text) === device)
    return orNot(source, name, readyFrom(source, decrypt, name, use.text))
  // Such a file may not say which device has the profile.
  if (use.state === 'torn' && recordedIccids(directory).has(iccid))
    throw new Failure('others-profile', `${iccid} is recorded for another device`)
  const stored = isReleased ? anew(name, use.text) : claimable(directory, use)
  if (stored === undefined) throw torn(name)
  const ready = await orNot(source, name, readyFrom(source, decrypt, stored.name, stored.stored))
  messages.warn(`${iccid} is marked used, and nobody is known to have it: use it only for device ${device}`)
  return ready
}

/** @throws {Failure} if another device has the profile */
function refuseOthers(iccid: string, device: string, text: string): void {
  const owner = deviceIn(text) ?? device
  if (owner !== device) throw new Failure('others-profile', `device ${owner} has ${iccid}`)
}

type Settled = Exclude<Use, { state: 'gone' | 'claimed' }>

type Marked = Extract<Use, { state: 'used' | 'torn' }>

const torn = (name: string) =>
  notHandedOut(name, new UnusableProfile('damaged', 'its used file is not complete'))

/** @returns undefined if another call is about to change what the names say, or has just done so */
async function takeNow(source: Source, decrypt: Decrypt, look: LookUp): Promise<Ready | undefined> {
  const { directory, messages, signals } = source
  const use = look.look()
  if (use === undefined) return undefined
  const [{ name }, { iccid }] = [use, look]
  if (use.state === 'used') {
    const tombstone = tombstoneIn(use.text)
    if (tombstone !== undefined) throw moved(iccid, tombstone)
    if (isNobodys(directory, iccid, use.text))
      return aside(source, await takeAnew(source, decrypt, use, use.text))
    if (fieldsOf(use.text)['panel'] !== undefined) {
      // That call may come short yet, and gives the profile back unless somebody has claimed it anew.
      const ours = await takeAnew(source, decrypt, use, use.text)
      return ours && again(ours, messages)
    }
    const ready = await orNot(source, name, readyFrom(source, decrypt, name, use.text))
    beforeClaim(signals)
    removeTwin(directory, use)
    // Until then, a tool that only renames could take it.
    return use.isTwin ? undefined : again(ready, messages)
  }
  if (use.state === 'torn' && !use.isTwin) throw torn(name)
  const ready = await orNot(source, name, makeReady(source, decrypt, name))
  if (ready === undefined) return undefined
  if (use.state === 'torn') return aside(source, await takeAnew(source, decrypt, use, ready.stored))
  beforeClaim(signals)
  // Somebody may have renamed a used file back by hand. It is still the device's.
  const device = deviceIn(ready.stored)
  const [ours] = await new Search(source, decrypt).claim([{ ready, text: usedText(ready, device) }])
  return ours === undefined || device === undefined ? ours : again(ours, messages)
}

/** Whether a used file names a device that has another profile: a call of version 1.1 was killed while it released it. */
function isNobodys(directory: string, iccid: string, text: string): boolean {
  const device = deviceIn(text)
  if (device === undefined || fieldsOf(text)['claim'] !== undefined) return false
  const { assignment } = historyOf(directory, device)
  return assignment !== undefined && parseName(assignment.name)?.digits !== iccid
}

/** Claims, under its next number, a profile that is marked used. */
async function takeAnew(
  source: Source,
  decrypt: Decrypt,
  { name, isTwin }: Marked,
  text: string,
): Promise<Ready | undefined> {
  const next = anew(name, text)
  const ready = await orNot(source, name, readyFrom(source, decrypt, next.name, next.stored))
  beforeClaim(source.signals)
  const [ours] = await new Search(source, decrypt).claim([{ ready, text: usedText(ready) }])
  // A tool that only renames has taken it.
  if (ours !== undefined && isTwin && !patiently(() => removeIfThere(join(source.directory, name))))
    throw busy(ready.iccid)
  return ours
}

function aside({ messages }: Source, ours: Ready | undefined): Ready | undefined {
  if (ours !== undefined) messages.warn(`${ours.iccid} was set aside: a call was killed while it claimed it`)
  return ours
}

const moved = (iccid: string, { to }: Tombstone) => new Failure('moved', `${iccid} is moved to ${to}`)

/** @throws {Failure} `key` or `unusable`: no other profile can replace this one */
export async function orNot<T>(source: Source, name: string, ready: Promise<T>): Promise<T> {
  try {
    return await ready
  } catch (error) {
    throw error instanceof UnusableProfile ? notHandedOut(name, error, source.key) : error
  }
}

/** Warns of the device that may have it. */
function again(ready: Ready, messages: Messages): Ready {
  const device = deviceIn(ready.stored)
  const which = device === undefined ? 'the same device' : `device ${device}`
  messages.warn(`${ready.iccid} was handed out before: use it only for ${which}`)
  return { ...ready, isAgain: true, ...(device === undefined ? {} : { device }) }
}

/** @throws {Failure} what a user is told of an error of the disk */
async function onDisk<T>(iccid: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (error) {
    if (error instanceof Failure || error instanceof Undelivered) throw error
    if (error instanceof UnusableProfile) throw notHandedOut(iccid, error)
    throw new Failure('not-recorded', `can't claim ${iccid}: ${reasonOf(error)}`, error)
  }
}
