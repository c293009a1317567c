import { Failure, reasonOf, UnusableProfile } from '../../failure.ts'
import { type Decrypt, decryptor } from '../../profile/decrypt.ts'
import { type Assignment, assign, claimFor, historyOf, holds } from '../../store/devices.ts'
import { beforeClaim } from '../deliver.ts'
import { makeReady, notHandedOut, type Ready, readyFrom, type Source, type Taken } from '../ready.ts'
import { Search } from './search.ts'

/** A device's profile, as far as it has one. */
interface Own {
  readonly turns: number
  readonly assignment?: Assignment
  readonly ready?: Ready
  /** Whether it is claimed; otherwise a call was cut off before it could do that. */
  readonly isClaimed?: boolean
}

/**
 * The profiles of these devices, in their order: the one that a device has, or the next unused one. What is claimed here
 * belongs to its device from then on, also where the call fails: the next call for the device prints it.
 * @throws {Failure} `no-profiles`, `unusable`, `key` or `disk`
 */
export async function takeForDevices(source: Source, devices: readonly string[]): Promise<Taken> {
  const { messages, signals } = source
  const decrypt = await decryptor(source.key, devices.length)
  const search = new Search(source, decrypt)
  try {
    const owned: Own[] = []
    for (const device of devices) owned.push(await ownOf(source, decrypt, device))
    const missing = owned.filter(({ ready }) => ready === undefined).length
    const fresh = await search.gather(missing)
    const found = devices.length - missing + fresh.length
    if (fresh.length < missing) throw search.tooFew(devices.length, found)
    beforeClaim([...owned.flatMap(({ ready }) => ready ?? []), ...fresh], signals)
    const taken: Ready[] = []
    for (const [at, device] of devices.entries()) {
      const own = owned[at] ?? { turns: 0 }
      if (own.isClaimed && own.ready !== undefined) {
        messages.warn(`device ${device} has ${own.ready.iccid} already: it gets the same profile again`)
        taken.push({ ...own.ready, device, isAgain: true })
      } else taken.push({ ...(await claimOne(search, source, decrypt, device, own, fresh)), device })
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

/** @throws {Failure} */
async function ownOf(source: Source, decrypt: Decrypt, device: string): Promise<Own> {
  const { directory } = source
  const { assignment, turns } = told(() => historyOf(directory, device))
  if (assignment === undefined) return { turns }
  const isClaimed = holds(directory, assignment)
  try {
    // Where a call was cut off before the claim, the profile may be anybody's meanwhile, or be damaged.
    const isThere = isClaimed || (await makeReady(source, decrypt, assignment.name)) !== undefined
    if (!isThere) return { turns }
    return {
      turns,
      assignment,
      isClaimed,
      ready: await readyFrom(source, decrypt, assignment.name, assignment.text),
    }
  } catch (error) {
    if (!(error instanceof UnusableProfile)) throw error
    if (!isClaimed && error.fault !== 'locked') return { turns }
    throw notHandedOut(`the profile of device ${device}`, error)
  }
}

/**
 * Claims a profile for a device: the one that is assigned to it, or one of these, or whatever the directory still has.
 * @throws {Failure}
 */
async function claimOne(
  search: Search,
  source: Source,
  decrypt: Decrypt,
  device: string,
  own: Own,
  fresh: Ready[],
): Promise<Ready> {
  const { directory } = source
  for (let { assignment, turns, ready } = own; ; assignment = undefined) {
    if (assignment === undefined) {
      const next = fresh.shift() ?? (await search.gather(1))[0]
      if (next === undefined) throw search.tooFew(1, 0)
      const inForce = told(() => assign(directory, device, next, turns))
      ;({ assignment, turns } = inForce)
      ready = next
    }
    const { name, text } = assignment
    const [chosen, claimed] = [assignment, ready]
    if (!told(() => claimFor(directory, chosen))) continue
    // Another call for the same device may have been quicker: its choice is in force.
    return claimed?.name === name ? claimed : readyFrom(source, decrypt, name, text)
  }
}

/** @throws {Failure} `disk` */
function told<T>(action: () => T): T {
  try {
    return action()
  } catch (error) {
    throw new Failure('disk', `can't record which device has which profile: ${reasonOf(error)}`, {
      hint: 'this user needs the right to create and remove files in the directory; then run the same command again',
      cause: error,
    })
  }
}
