import { Failure, reasonOf, UnusableProfile } from '../../failure.ts'
import { type Decrypt, decryptor } from '../../key/decrypt.ts'
import { type Assignment, assign, claimFor, historyOf, isClaimedFor, isThere } from '../../store/devices.ts'
import { beforeClaim } from '../deliver.ts'
import { makeReady, notHandedOut, type Ready, readyFrom, type Source, type Taken } from '../ready.ts'
import { Search } from './search.ts'

/** What a device has before this call. */
interface Own {
  /** How many profiles were assigned to it so far. All but the last went to other devices. */
  readonly turns: number
  /** The last one, and its profile, unless that went to another device as well. */
  readonly last?: { readonly assignment: Assignment; readonly ready: Ready }
}

/**
 * Returns the profile of each device, in their order: the one that the device has, or the next unused one. A profile
 * that is claimed here belongs to its device even if the call fails. The next call for the device prints it.
 * @throws {Failure} `no-profiles`, `unusable`, `key` or `disk`
 */
export async function takeForDevices(source: Source, devices: readonly string[]): Promise<Taken> {
  const { messages, signals } = source
  const decrypt = await decryptor(source.key, devices.length)
  const search = new Search(source, decrypt)
  try {
    let owned = await ownOfAll(source, decrypt, devices)
    const fresh = await search.gather(devices.length - hadBy(owned).length)
    // Another call for the same device may have taken the last profile in the meantime.
    if (hadBy(owned).length + fresh.length < devices.length) owned = await ownOfAll(source, decrypt, devices)
    const had = hadBy(owned)
    if (had.length + fresh.length < devices.length) {
      throw search.tooFew(devices.length, had.length + fresh.length)
    }
    beforeClaim(signals)
    const taken: Ready[] = []
    for (const [device, own] of owned) {
      const ready = await claimOne(search, source, decrypt, device, own, fresh)
      if (ready.isAgain)
        messages.warn(`device ${device} already has ${ready.iccid}; printing the same profile again`)
      taken.push({ ...ready, device })
    }
    search.passedOver.warn(messages)
    return { taken, left: search.queue.left }
  } catch (error) {
    if (error === search.shortage) search.passedOver.warn(messages)
    search.queue.giveBack()
    throw error
  } finally {
    search.warnOfFinished()
  }
}

type Owned = readonly [device: string, own: Own]

/** @throws {Failure} */
async function ownOfAll(source: Source, decrypt: Decrypt, devices: readonly string[]): Promise<Owned[]> {
  const owned: Owned[] = []
  for (const device of devices) owned.push([device, await ownOf(source, decrypt, device)])
  return owned
}

const hadBy = (owned: readonly Owned[]) => owned.flatMap(([, { last }]) => last?.ready ?? [])

/** @throws {Failure} */
async function ownOf(source: Source, decrypt: Decrypt, device: string): Promise<Own> {
  const { directory, messages } = source
  const { assignment, turns, damaged } = onDisk(() => historyOf(directory, device))
  for (const path of damaged) messages.warn(`the record ${path} of device ${device} is damaged and ignored`)
  if (assignment === undefined) return { turns }
  const { name, text } = assignment
  const isDone = () => onDisk(() => isClaimedFor(directory, assignment))
  let isClaimed = isDone()
  try {
    // A call that was killed before its claim leaves an unused file, which may be gone or damaged by now. If it is gone,
    // another call for the device may have claimed it since: the used name is there before the unused one goes.
    if (!isClaimed && (await makeReady(source, decrypt, name)) === undefined) {
      isClaimed = isDone()
      if (!isClaimed && !isThere(directory, assignment)) throw gone(device, assignment)
      if (!isClaimed) return { turns }
    }
    const ready = await readyFrom(source, decrypt, name, text)
    return { turns, last: { assignment, ready } }
  } catch (error) {
    if (!(error instanceof UnusableProfile)) throw error
    if (!isClaimed && error.fault !== 'locked') return { turns }
    throw notHandedOut(`the profile of device ${device}`, error)
  }
}

/**
 * Claims a profile for a device: the one that is assigned to it, otherwise one of `fresh`, otherwise any other. If the
 * device has its profile already, this finishes what a killed call left.
 * @throws {Failure}
 */
async function claimOne(
  search: Search,
  source: Source,
  decrypt: Decrypt,
  device: string,
  { turns: known, last }: Own,
  fresh: Ready[],
): Promise<Ready> {
  const { directory } = source
  if (last !== undefined) {
    const outcome = onDisk(() => claimFor(directory, last.assignment))
    if (outcome !== 'lost') return { ...last.ready, isAgain: outcome === 'had' }
  }
  for (let turns = known; ; ) {
    const next = fresh.shift() ?? (await search.gather(1))[0]
    if (next === undefined) {
      const own = await ownOf(source, decrypt, device)
      if (own.last === undefined || own.turns === turns) throw search.tooFew(1, 0)
      return claimOne(search, source, decrypt, device, own, fresh)
    }
    const inForce = onDisk(() => assign(directory, device, next, turns))
    const { name, text } = inForce.assignment
    if (name !== next.name) fresh.unshift(next)
    const outcome = onDisk(() => claimFor(directory, inForce.assignment))
    if (outcome !== 'lost') {
      // Another call for the same device may have been faster. Its choice applies.
      const ready = name === next.name ? next : await readyFrom(source, decrypt, name, text)
      return { ...ready, isAgain: outcome === 'had' }
    }
    // The others may have been reserved by calls that will not take them.
    search.queue.noteGone(true)
    turns = inForce.turns
  }
}

/** Its file was moved or deleted. Whether the device has the profile is not known. */
const gone = (device: string, { name, path }: Assignment) =>
  new Failure('no-profiles', `device ${device} was assigned the profile of ${name}, and that file is gone`, {
    hint: `put ${name} or its used file back; if the device has no profile, delete ${path} to give it another one`,
  })

/** @throws {Failure} `disk` */
function onDisk<T>(action: () => T): T {
  try {
    return action()
  } catch (error) {
    throw new Failure('disk', `can't record which device has which profile: ${reasonOf(error)}`, {
      hint: 'check the free space and the permissions of the directory, then run the same command again',
      cause: error,
    })
  }
}
