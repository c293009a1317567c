import { Failure, reasonOf, UnusableProfile } from '../../failure.ts'
import { type Decrypt, decryptor } from '../../key/decrypt.ts'
import { pause } from '../../pause.ts'
import { claim } from '../../store/claim/claim.ts'
import { removeSurplus } from '../../store/claim/surplus.ts'
import { finish, takeOver } from '../../store/claim/take-over.ts'
import { deviceIn, isTakenOver, type Tombstone, type Use, useOf } from '../../store/claim/use.ts'
import { settleFor } from '../../store/devices/record.ts'
import { fileName } from '../../store/names.ts'
import { checkDirectory } from '../../store/read.ts'
import type { Messages } from '../../words.ts'
import {
  beforeClaim,
  makeReady,
  notHandedOut,
  type Ready,
  readyFrom,
  type Source,
  type Taken,
} from '../ready.ts'

/** Another call may be completing or releasing its claim of the profile. */
const UNSETTLED_TRIES = 20
const UNSETTLED_PAUSE_MS = 50

/**
 * A used profile is read again: a user who gives the ICCID knows which device it is for.
 * @param iccid its digits
 * @throws {Failure} `no-profiles`, `unusable`, `key` or `disk`; in each case, nothing is claimed
 */
export async function takeByIccid(source: Source, iccid: string): Promise<Taken> {
  const decrypt = await decryptor(source.key, 1)
  for (let tries = UNSETTLED_TRIES; tries > 0; tries--) {
    const ready = await takeNow(source, decrypt, iccid)
    if (ready !== undefined) return { taken: [ready] }
    pause(UNSETTLED_PAUSE_MS)
  }
  throw new Failure('busy-claim', `another call is claiming ${iccid}`)
}

/** @returns undefined if another call is about to change what the names say */
async function takeNow(source: Source, decrypt: Decrypt, iccid: string): Promise<Ready | undefined> {
  const { directory, messages, signals } = source
  const use = onDisk(iccid, () => useOf(directory, fileName(iccid)))
  if (use.state === 'gone') {
    // If the directory itself is missing, report that instead.
    checkDirectory(directory)
    throw new Failure('no-such-profile', `no profile ${iccid} in ${directory}`)
  }
  if (use.state === 'moved') throw moved(iccid, use.tombstone)
  const ready = await readyNow(source, decrypt, use)
  if (ready === undefined) return undefined
  beforeClaim(signals)
  if (use.state === 'used') {
    const outcome = onDisk(iccid, () => settleUsed(directory, use))
    if (outcome === 'changed') return undefined
    return outcome === 'used' ? again(ready, messages) : takenOver(ready, messages)
  }
  if (use.state === 'begun') {
    return onDisk(iccid, () => takeOverNow(directory, ready.name)) ? takenOver(ready, messages) : undefined
  }
  if (onDisk(ready.name, () => claim(directory, ready.name, ready.stored))) {
    // Somebody may have renamed a used file back by hand.
    return deviceIn(ready.stored) === undefined ? ready : again(ready, messages)
  }
  throw new Failure('just-claimed', `another call has just claimed ${iccid}`)
}

const moved = (iccid: string, { to }: Tombstone) => new Failure('moved', `${iccid} is moved to ${to}`)

/** @throws {Failure} `key` or `unusable`: no other profile can replace this one */
async function readyNow(
  source: Source,
  decrypt: Decrypt,
  use: Exclude<Use, { state: 'gone' | 'moved' }>,
): Promise<Ready | undefined> {
  const file = use.state === 'used' ? use.used : use.unused
  try {
    return use.state === 'used'
      ? await readyFrom(source, decrypt, file.replace(/^__/, ''), use.text)
      : await makeReady(source, decrypt, file)
  } catch (error) {
    throw error instanceof UnusableProfile ? notHandedOut(file, error, source.key) : error
  }
}

/** @returns whether the profile is this call's now, and no device's */
function takeOverNow(directory: string, name: string): boolean {
  const outcome = takeOver(directory, name)
  if (outcome !== 'complete') return outcome === 'ours'
  // The used file may name a device by now, or another one.
  const use = useOf(directory, name)
  return use.state === 'used' && settleUsed(directory, use, true) === 'ours'
}

/**
 * Settles a used file beside an unused one.
 * @param isTaken whether this call has taken the claim over
 * @returns `ours` if the profile is nobody's: the device that the used file names has another one
 * @throws the system error
 */
function settleUsed(
  directory: string,
  { unused, text }: Extract<Use, { state: 'used' }>,
  isTaken = false,
): 'used' | 'ours' | 'changed' {
  if (unused === undefined) return 'used'
  if (deviceIn(text) === undefined) {
    // The call that took it over is about to print it.
    if (isTakenOver(directory, unused)) return 'changed'
    removeSurplus(directory, unused)
    return 'used'
  }
  if (settleFor(directory, unused, text, isTaken)) return 'used'
  const isOurs = isTaken ? finish(directory, unused) : takeOverNow(directory, unused)
  return isOurs ? 'ours' : 'changed'
}

function takenOver(ready: Ready, messages: Messages): Ready {
  messages.warn(`${ready.iccid} was being claimed by another call, which can't print it any more`)
  return ready
}

/** Warns of the device that may have it. */
function again(ready: Ready, messages: Messages): Ready {
  const device = deviceIn(ready.stored)
  const which = device === undefined ? 'the same device' : `device ${device}`
  messages.warn(`${ready.iccid} was handed out before: use it only for ${which}`)
  return { ...ready, isAgain: true, ...(device === undefined ? {} : { device }) }
}

/** @throws {Failure} */
function onDisk<T>(what: string, action: () => T): T {
  try {
    return action()
  } catch (error) {
    if (error instanceof Failure) throw error
    if (error instanceof UnusableProfile) throw notHandedOut(what, error)
    throw new Failure('not-recorded', `can't claim ${what}: ${reasonOf(error)}`, error)
  }
}
