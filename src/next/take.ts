/**
 * Which profiles a call gets: any, one for each device, or the one that it names. All go the same way: look at what is
 * there, choose what is missing, record it for its device, claim it, and look again for what others were first to take.
 */
import { join } from 'node:path'
import { Failure, UnusableProfile } from '../failure.ts'
import { pause } from '../pause.ts'
import { refuseOutdated } from '../profile/validate.ts'
import { anew, removeTwin, type Use, useAt, usedText, useOf } from '../store/claim.ts'
import { settle } from '../store/decision.ts'
import { type Assignment, alikeWords, historyOf, recordAll, recordedIccids } from '../store/devices.ts'
import { removeIfThere } from '../store/directory-entries.ts'
import { checkDirectory, comingsIn, looking } from '../store/listing.ts'
import { comingKey, fileName, keyOf, keyOfName, parseName } from '../store/names.ts'
import { PAUSE_MS, patiently, ROUNDS } from '../store/patience.ts'
import { byUs, deviceIn, fieldsOf, tombstoneIn } from '../store/profile-file.ts'
import {
  beforeClaim,
  makeReady,
  type Ready,
  readStored,
  readyFrom,
  type Source,
  type Subject,
  told,
  Undelivered,
  type Wanted,
} from './ready.ts'
import { Search } from './search.ts'

export interface Wish {
  /** 1 if `iccid` is given. */
  readonly count: number
  /** The serial numbers of the devices that profiles are wanted for; one if `iccid` is given. */
  readonly devices?: readonly string[] | undefined
  /** Take this profile, used or not. If undefined, take the next ones. */
  readonly iccid?: string | undefined
  /** Fail if one of the devices has a profile already. */
  readonly isNew?: boolean | undefined
}

/** What a call has claimed, or had again. */
export interface Taken {
  readonly taken: readonly Ready[]
  /** How many unused profiles are left behind it, as far as that is known. */
  readonly left?: number | undefined
}

/** One of the profiles that a call wants. */
interface Slot {
  readonly device?: string
  /** How many records the device has. */
  readonly records?: number
}

/** What there is for a slot; nothing if another call is in between. */
interface Look {
  /** A used profile, to be printed again. */
  readonly again?: Ready
  /** One that only this slot gets. */
  readonly wanted?: Wanted
  /** Any unused profile will do. */
  readonly open?: Slot
}

/**
 * Claims profiles: all or none, except that what is recorded for a device belongs to it, even if the call fails. The next
 * call for the device prints it. Files that are skipped stay unchanged and are named in a warning.
 * @throws {Failure} in each case, nothing is claimed
 * @throws {Undelivered} if it failed when some profiles were claimed, or may be
 */
export const take = (source: Source, wish: Wish): Promise<Taken> => new Taking(source, wish).take()

class Taking {
  readonly #source: Source
  readonly #wish: Wish
  readonly #search: Search
  /** By device; without devices, in the order of the claims. */
  readonly #had = new Map<string, Ready>()
  /** Unused profiles that were found for slots and not used up. */
  #fresh: Ready[] = []
  /** The texts that this call has recorded. */
  readonly #recorded = new Set<string>()
  /** Of each device: those with a profile that differ in case only. */
  readonly #alike = new Map<string, readonly string[]>()
  /** Whether the profile that the call names was to be claimed at an earlier look. */
  #wasFree = false

  constructor(source: Source, wish: Wish) {
    this.#source = source
    this.#wish = wish
    this.#search = new Search(source)
  }

  async take(): Promise<Taken> {
    const { count, devices, iccid } = this.#wish
    const { messages } = this.#source
    const [had, search] = [this.#had, this.#search]
    const isAny = devices === undefined && iccid === undefined
    try {
      if (isAny && !search.queue.has(count)) throw search.tooFew(count, search.queue.found.iccids.length)
      for (let rounds = ROUNDS; had.size < count; rounds--) {
        // Instead of a profile that others claim, there may be another one.
        if (!isAny && rounds === 0) throw this.#tooBusy()
        if (!isAny && rounds < ROUNDS) pause(PAUSE_MS)
        await this.#goRound()
      }
    } catch (error) {
      search.unreserve()
      const [also, cause] = error instanceof Undelivered ? [error.taken, error.cause] : [[], error]
      const claimed = [...[...had.values()].filter(({ isAgain }) => !isAgain), ...also]
      throw claimed.length === 0 ? error : new Undelivered(claimed, cause)
    }
    const taken = devices?.map((device) => had.get(device) as Ready) ?? [...had.values()]
    for (const { caution } of taken) if (caution !== undefined) messages.warn(caution)
    for (const [device, others] of this.#alike) messages.warn(alikeWords(device, others))
    if (iccid === undefined) search.skipped.warn(messages)
    return { taken, left: isAny || devices !== undefined ? search.queue.left : undefined }
  }

  /** Looks for what is still missing, and claims it. Others may be first to claim some of it. */
  async #goRound(): Promise<void> {
    const { directory, signals } = this.#source
    const [had, search] = [this.#had, this.#search]
    const looks: Look[] = []
    for (const device of this.#missing()) looks.push(await this.#lookFor(device))
    const open = looks.flatMap((each) => each.open ?? [])
    for (const each of await search.gather(open.length - this.#fresh.length, had.size > 0))
      this.#fresh.push(each)
    if (this.#fresh.length < open.length) return this.#comeShort(open)
    const chosen = open.map((slot, at) => this.#wanted(this.#fresh[at] as Ready, slot))
    const wanted = [...chosen, ...looks.flatMap((each) => each.wanted ?? [])]
    const again = looks.flatMap((each) => each.again ?? [])
    if (wanted.length + again.length === 0) return
    if (had.size === 0) beforeClaim(signals)
    const late = await this.#record(wanted)
    this.#fresh = [...chosen.filter((each) => late.has(each)), ...this.#fresh.slice(open.length)]
    for (const each of again) had.set(each.device ?? each.name, each)
    const claimed = await search.claim(wanted.filter((each) => !late.has(each)))
    for (const each of claimed) had.set(each.device ?? each.name, each)
    for (const each of claimed) {
      const { iccid, device, name, twin } = each
      const isGone = (unused: string) =>
        patiently(() => removeIfThere(join(directory, unused))) || useAt(directory, unused).state === 'torn'
      if (twin === undefined || (await this.#told({ iccid }, () => isGone(twin)))) continue
      // A tool that only renames has taken it.
      had.delete(device ?? name)
      throw busy(iccid)
    }
  }

  /** The devices without a profile; undefined for each profile that is for no device. */
  #missing(): readonly (string | undefined)[] {
    const { count, devices } = this.#wish
    if (devices === undefined) return Array.from({ length: count - this.#had.size })
    return devices.filter((device) => !this.#had.has(device))
  }

  async #lookFor(device: string | undefined): Promise<Look> {
    const { iccid } = this.#wish
    if (device === undefined) return iccid === undefined ? { open: {} } : this.#lookAtNamed(iccid, {})
    return this.#told({ device }, () => {
      const { assignment, records, alike } = historyOf(this.#source.directory, device)
      if (alike.length > 0) this.#alike.set(device, alike)
      if (assignment !== undefined) return this.#lookAtRecord(device, assignment)
      const slot = { device, records }
      return iccid === undefined ? { open: slot } : this.#lookAtNamed(iccid, slot)
    })
  }

  #told = <T>(subject: Subject, action: () => T | Promise<T>) => told(this.#source.key, subject, action)

  /** The profile that a device has, or that only it may get. */
  async #lookAtRecord(device: string, { name, text, use }: Assignment): Promise<Look> {
    const { directory } = this.#source
    const { iccid, isNew } = this.#wish
    const before = use.state === 'gone' ? useBefore(directory, name) : undefined
    // Its file was moved or deleted. Whether somebody has the profile is not known.
    if (use.state === 'gone' && before === undefined) {
      // If the directory itself is missing, report that instead.
      checkDirectory(directory)
      const what = `device ${device} was assigned the profile of ${name}, and that file is gone`
      throw new Failure({ kind: 'file-gone', name }, what)
    }
    if (finish(directory, use)) return {}
    // Somebody may have given the used file another spelling.
    const file = use.state === 'used' ? use.name : name
    const ready = { ...(await readyFrom(this.#source, file, text)), device }
    if ((isNew && !this.#recorded.has(text)) || ready.iccid !== (iccid ?? ready.iccid))
      throw new Failure('has-profile', `device ${device} already has ${ready.iccid}`)
    const twin = before?.state === 'torn' && before.hasTwin ? before.name : undefined
    if (use.state === 'unused' || use.state === 'gone') return { wanted: { ...ready, text, twin } }
    // The record has all that a torn used file lacks.
    const caution = `device ${device} already has ${ready.iccid}; printing the same profile again`
    return { again: { ...ready, isAgain: true, caution } }
  }

  /** The profile that the call names. A user who gives the ICCID knows which device it is for. */
  #lookAtNamed = (iccid: string, slot: Slot): Promise<Look> =>
    this.#told({ iccid }, async () => {
      const { directory } = this.#source
      const { device } = slot
      const use = useNow(directory, iccid)
      const isOwn = device !== undefined && use.state === 'used' && deviceIn(use.text) === device
      if (use.state === 'used' && this.#wasFree && !isOwn) throw busy(iccid)
      if (use.state === 'unused') {
        this.#wasFree = true
        // It may be about to become complete.
        settle(directory, comingKey(use.name))
      }
      // A call that failed while it claimed the profile has told its user to come with --iccid.
      if (finish(directory, use)) return {}
      return this.#told({ iccid, name: use.name }, () =>
        use.state === 'unused' ? this.#lookAtUnused(use.name, slot) : this.#lookAtUsed(iccid, slot, use),
      )
    })

  async #lookAtUnused(name: string, slot: Slot): Promise<Look> {
    const ready = await makeReady(this.#source, name)
    if (ready === undefined) return {}
    // Somebody may have renamed a used file back by hand. It is still the device's.
    const owner = deviceIn(ready.stored)
    refuseOthers(ready.iccid, slot, owner)
    const isBack = owner !== undefined && slot.device === undefined
    return { wanted: this.#wanted(isBack ? asAgain(ready) : ready, slot) }
  }

  /** It is printed again, or claimed under its next number if nobody is known to have it. */
  async #lookAtUsed(iccid: string, slot: Slot, use: Exclude<Named, { state: 'unused' }>): Promise<Look> {
    const { directory } = this.#source
    const { device } = slot
    const { name } = use
    const isTorn = use.state === 'torn'
    if (isTorn && !use.hasTwin) throw new UnusableProfile('damaged', 'its used file is not complete')
    const text = isTorn ? readStored(this.#source, name) : use.text
    if (text === undefined) return {}
    const owner = deviceIn(text)
    const isReleased = !isTorn && isNobodys(directory, iccid, text)
    const isAside = isTorn || isReleased
    if (!isReleased) refuseOthers(iccid, slot, owner)
    // Such a file may not say which device has the profile.
    if (isTorn && device !== undefined && recordedIccids(directory).has(iccid))
      throw new Failure('others-profile', `${iccid} is recorded for another device`)
    // A panel may come short yet, and gives the profile back unless somebody has claimed it anew.
    const isPanels = fieldsOf(text)['panel'] !== undefined
    const isKept = !isAside && (device === undefined ? !isPanels : owner === device)
    const stored = isKept ? { name, stored: text } : anew(name, text)
    const ready = await readyFrom(this.#source, stored.name, stored.stored)
    if (isKept)
      return device === undefined ? { again: asAgain(ready) } : { wanted: this.#wanted(ready, slot) }
    this.#wasFree = true
    if (isTorn && device === undefined) refuseOutdated(ready.newerProblems)
    const caution =
      device === undefined
        ? `${iccid} was set aside: a call was killed while it claimed it`
        : `${iccid} is marked used, and nobody is known to have it: use it only for device ${device}`
    const isHad = device === undefined && !isAside
    const wanted = this.#wanted(isHad ? asAgain(ready) : { ...ready, caution }, slot)
    return { wanted: isTorn ? { ...wanted, twin: name } : wanted }
  }

  #wanted(ready: Ready, { device = ready.device, records }: Slot): Wanted {
    const { count, devices } = this.#wish
    const by = devices === undefined && count > 1 ? { ...byUs(), panel: count } : byUs()
    return { ...ready, device, records, text: usedText(ready, device, by) }
  }

  /**
   * Records profiles for their devices.
   * @returns those for whose devices another call has recorded one
   * @throws {Failure} `not-recorded`; what is recorded by then stays the device's
   */
  async #record(wanted: readonly Wanted[]): Promise<ReadonlySet<Wanted>> {
    const isToRecord = (each: Wanted): each is Wanted & { records: number } => each.records !== undefined
    const all = wanted.filter(isToRecord)
    const outcomes = await this.#told({ device: all[0]?.device ?? '' }, () =>
      recordAll(this.#source.directory, all),
    )
    const late = new Set<Wanted>()
    for (const [at, outcome] of outcomes.entries()) {
      const each = all[at] as Wanted
      if ('error' in outcome) await this.#told(each, () => Promise.reject(outcome.error))
      if (outcome.state === 'ours') this.#recorded.add(each.text)
      else late.add(each)
    }
    return late
  }

  /** @throws {Failure} unless another call for one of the devices may have taken the last profile */
  async #comeShort(open: readonly Slot[]): Promise<void> {
    const { count, devices } = this.#wish
    for (const { device } of open)
      if (device !== undefined && (await this.#lookFor(device)).open === undefined) return
    const tooFew = this.#search.tooFew(count, count - open.length + this.#fresh.length)
    if (devices !== undefined) throw tooFew
    const claimed = [...this.#had.values()]
    this.#had.clear()
    await this.#search.giveBack(claimed, tooFew)
  }

  #tooBusy(): Failure {
    const { devices, iccid = '' } = this.#wish
    if (devices === undefined) return busy(iccid)
    return new Failure(
      'being-claimed',
      `another call is claiming the profile of device ${this.#missing()[0]}`,
    )
  }
}

type Named = Exclude<Use, { state: 'gone' }>

/**
 * What the names say of the profile that a call names.
 * @throws {Failure} if there is no such profile, or if another directory has it
 */
function useNow(directory: string, iccid: string): Named {
  const first = useOf(directory, iccid)
  // If the directory itself is missing, this reports that instead.
  const comings = first.state === 'gone' ? looking(directory, () => comingsIn(directory)) : undefined
  const use = comings?.has(iccid) ? useOf(directory, iccid, comings) : first
  if (use.state === 'gone') throw new Failure('no-such-profile', `no profile ${iccid} in ${directory}`)
  const tombstone = use.state === 'unused' ? undefined : tombstoneIn(use.text)
  if (tombstone !== undefined) throw new Failure('moved', `${iccid} is moved to ${tombstone.to}`)
  return use
}

/**
 * Looks at a profile that a call names, and changes nothing.
 * @throws {Failure} as `useNow`
 */
export const checkNamed = ({ directory, key }: Pick<Source, 'directory' | 'key'>, iccid: string) =>
  told(key, { iccid }, () => useNow(directory, iccid))

/**
 * Finishes what another call has begun.
 * @returns whether it had: then the names say something else now. A tool that only renames could take an unused file that
 *   was left beside its used one
 */
function finish(directory: string, use: Use): boolean {
  if (use.state === 'claimed') settle(directory, keyOfName(use.name))
  else if (use.state === 'used' && use.hasTwin) removeTwin(directory, use)
  else return false
  return true
}

/**
 * A call was killed that had recorded a profile, marked used by nobody known, under its next number.
 * @returns what there was under the number before; undefined if it was no such call
 */
function useBefore(directory: string, name: string): Use | undefined {
  const { digits = '', number = 1 } = parseName(name) ?? {}
  if (number === 1) return undefined
  const before = useAt(directory, fileName(keyOf({ digits, number: number - 1 })))
  const isAnew =
    before.state === 'torn' || (before.state === 'used' && tombstoneIn(before.text) === undefined)
  return isAnew ? before : undefined
}

/** Whether a used file names a device that has another profile: a call of version 1.1 was killed while it released it. */
function isNobodys(directory: string, iccid: string, text: string): boolean {
  const device = deviceIn(text)
  if (device === undefined || fieldsOf(text)['claim'] !== undefined) return false
  const { assignment } = historyOf(directory, device)
  return assignment !== undefined && parseName(assignment.name)?.digits !== iccid
}

/** @throws {Failure} if another device has the profile */
function refuseOthers(iccid: string, { device }: Slot, owner: string | undefined): void {
  if (device === undefined || owner === undefined || owner === device) return
  throw new Failure('others-profile', `device ${owner} has ${iccid}`)
}

const busy = (iccid: string) => new Failure('busy-claim', `another call has claimed ${iccid}, or is about to`)

/** One that was handed out before. Its file may say to which device. */
function asAgain(ready: Ready): Ready {
  const device = deviceIn(ready.stored)
  const whom = device === undefined ? 'the same device' : `device ${device}`
  const caution = `${ready.iccid} was handed out before: use it only for ${whom}`
  return { ...ready, device, isAgain: true, caution }
}
