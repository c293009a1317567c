/**
 * Which profiles a call gets: any, one for each device, or the one that it names. Each way is the same: hold what is
 * missing, decrypt and check it, decide it; and look again for what others were first to take.
 */
import { Failure, ignoreIfSystem } from '../failure.ts'
import { type Decrypt, LOCKED } from '../key/private-key.ts'
import { pause } from '../pause.ts'
import * as store from '../store/directory.ts'
import { type Encoder, encode, Skipped, type Taken, unusable } from './ready.ts'

/** What a call wants. */
export interface Order extends Omit<Encoder, 'decrypt'> {
  readonly directory: string
  /** How many profiles, without devices; 1 with an ICCID. */
  readonly count: number
  /** The serial numbers of the devices that profiles are wanted for; one if `iccid` is given. */
  readonly devices?: readonly string[] | undefined
  /** Take this profile, used or not. */
  readonly iccid?: string | undefined
  /** Fail if one of the devices has a profile already. */
  readonly isNew?: boolean | undefined
  /** The file that gets a line for each profile. */
  readonly receipt?: string | undefined
  /** Aborted by a signal: claim nothing more. */
  readonly stop: AbortSignal
  /** Called before a decision: from now on, a signal must not end the process at once. */
  hold(): void
}

/** How often a call looks again for what others were first to take, or hold. */
const ROUNDS = 20
const PAUSE_MS = 50

/** The serial number of a device; undefined if the profile is for none in particular. */
type Device = string | undefined

/** The profiles of one call. What it has decided is in `used`, also if it fails. */
export class Call {
  readonly unused: store.Unused
  readonly used: store.Claim[] = []
  readonly #skipped: Skipped
  readonly #order: Order
  readonly #encoder: Encoder
  readonly #by: store.By = { station: store.stationName(), claimed: new Date().toISOString() }
  /** What it holds and has not decided, by the tags. */
  readonly #held = new Map<string, store.Claim>()

  constructor(order: Order, decrypt: Decrypt) {
    this.#order = order
    this.#encoder = { ...order, decrypt }
    this.#skipped = new Skipped(order.key)
    this.unused = new store.Unused(order.directory)
  }

  /**
   * Claims profiles: all that the call asks for, or none.
   * @returns them in the order of the devices
   * @throws {Failure} nothing is used then, but what is in `used`
   */
  async take(): Promise<Taken[]> {
    try {
      return await this.#takeAll()
    } catch (error) {
      await this.#giveBack([...this.#held.values()]).catch(ignoreIfSystem)
      throw error
    } finally {
      this.#skipped.warn(this.#order.messages)
    }
  }

  async #takeAll(): Promise<Taken[]> {
    const { count, devices, iccid } = this.#order
    const wanted: readonly Device[] = devices ?? Array.from({ length: count })
    const taken: Taken[] = []
    for (let rounds = 0; taken.length < wanted.length; rounds++) {
      // What a killed call has left is in no list but a new one.
      if (rounds === ROUNDS) this.unused.again()
      if (rounds === ROUNDS) throw busy(iccid ?? 'the same profiles')
      if (rounds > 0) pause(PAUSE_MS)
      const done = new Set(taken.map(({ device }) => device))
      const missing = devices?.filter((device) => !done.has(device)) ?? wanted.slice(taken.length)
      const ready: Taken[] = []
      const open: Device[] = []
      for (const device of missing) {
        const record = device === undefined ? undefined : this.#recordFor(device)
        const only = iccid ?? record?.iccid
        const found = only === undefined ? undefined : await this.#lookFor(only, device, rounds === 0)
        if (only === undefined) open.push(device)
        else if (found?.isAgain) taken.push(found)
        else if (found !== undefined) ready.push(found)
      }
      const next = await this.#holdNext(open)
      if (next.length < open.length) await this.#comeShort(open, [...ready, ...next])
      else taken.push(...(await this.#commit([...ready, ...next])))
    }
    return taken.sort((one, other) => wanted.indexOf(one.device) - wanted.indexOf(other.device))
  }

  /**
   * Which profile the device has.
   * @throws {Failure} if the device may not get the one that the call is about
   */
  #recordFor(device: string): store.DeviceRecord | undefined {
    const { directory, iccid, isNew, messages } = this.#order
    const record = store.recordOf(directory, device)
    const isOurs = this.used.some((each) => each.device === device)
    if (record !== undefined && ((isNew && !isOurs) || (iccid ?? record.iccid) !== record.iccid))
      throw new Failure(
        'has-profile',
        `device ${device} already has ${record.iccid}`,
        'scan the device again; if it is the right one, leave out --new and --iccid: the same profile is printed again; nothing was claimed',
      )
    const twin = record === undefined ? store.twinOf(directory, device) : undefined
    if (twin === undefined) return record
    if (!isNew)
      throw new Failure(
        'usage',
        `device ${twin} has a profile, and ${device} may be the same device`,
        `if it is, use its serial number as it was; if it really is another device, add --new; nothing was claimed`,
      )
    messages.warn(`device ${device} is taken for another one than ${twin}`)
    return undefined
  }

  /**
   * The one profile that will do: used, to be printed again, or unused, and held now.
   * @returns undefined if another call is in between
   */
  async #lookFor(iccid: string, device: Device, isFirst: boolean): Promise<Taken | undefined> {
    const { directory, key, messages } = this.#order
    try {
      // It may have been used a moment ago, on another machine.
      if (device === undefined && isFirst) store.refresh(directory)
      const place = store.stateOf(directory, iccid)
      if (place.state === 'used') {
        // Somebody else was first.
        if (device === undefined && !isFirst) throw busy(iccid)
        return await this.#again(iccid, device, place)
      }
      if (place.state === 'unused') {
        const claim = this.#hold(place.name, device)
        return claim && (await encode(this.#encoder, claim, false))
      }
      if (place.state !== 'held' || place.held.move !== undefined)
        throw elsewhere(directory, iccid, device, place.state)
      await store.settle(directory, messages, this.used)
      store.refresh(directory)
      return undefined
    } catch (error) {
      throw unusable(key, device === undefined ? iccid : `the profile of device ${device}`, error)
    }
  }

  /** A used profile, to be printed again. A user who gives the ICCID knows which device it is for. */
  async #again(
    iccid: string,
    device: Device,
    place: Extract<store.State, { state: 'used' }>,
  ): Promise<Taken> {
    const { name, used, text: stored } = place
    const owner = used.device
    if (device !== undefined && owner !== device)
      throw new Failure(
        'unusable',
        `device ${device} can't have ${iccid}: ${owner === undefined ? 'it was handed out without a device' : `device ${owner} has it`}`,
        'check the serial number and the ICCID; if two devices have it, put both aside; nothing was claimed',
      )
    const caution =
      device === undefined
        ? `${iccid} was handed out before: use it only for ${owner === undefined ? 'the same device' : `device ${owner}`}`
        : `device ${device} already has ${iccid}: it gets the same profile again`
    // What a call that was killed before its print has left.
    const tag = used.claim ?? ''
    const places = store.placesOf(this.#order.directory, { name, tag })
    const taken = await encode(this.#encoder, { name, tag, iccid, stored, device: owner, places }, true)
    return { ...taken, cautions: [caution, ...taken.cautions] }
  }

  /** @returns undefined if somebody else has it */
  #hold(name: string, device: Device): store.Claim | undefined {
    const isNew = this.#order.isNew || undefined
    const claim = store.begin(this.#order.directory, name, { ...this.#by, device, isNew })
    if (claim !== undefined) this.#held.set(claim.tag, claim)
    return claim
  }

  /**
   * Holds, decrypts and checks the next profiles that can be used.
   * @returns fewer at the end
   */
  async #holdNext(devices: readonly Device[]): Promise<Taken[]> {
    const ready: Taken[] = []
    let open = devices
    while (open.length > 0) {
      this.#endIfStopped()
      const batch = this.#holdSome(open)
      const bad: store.Claim[] = []
      for (const { claim, opened } of batch) {
        try {
          ready.push(await opened)
          this.#skipped.isRightKey = true
        } catch (error) {
          this.#skipped.add(claim.name, error)
          bad.push(claim)
        }
      }
      await this.#giveBack(bad)
      this.#skipped.checkKey(LOCKED)
      if (batch.length < open.length) break
      open = bad.map(({ device }) => device)
    }
    return ready
  }

  /**
   * Holds profiles, and begins to decrypt each one while it holds the next.
   * @returns fewer at the end
   */
  #holdSome(devices: readonly Device[]) {
    const batch: { readonly claim: store.Claim; readonly opened: Promise<Taken> }[] = []
    while (batch.length < devices.length) {
      const name = this.unused.next()
      if (name === undefined) break
      try {
        const claim = this.#hold(name, devices[batch.length])
        if (claim === undefined) continue
        const opened = encode(this.#encoder, claim, false)
        // If the call fails before it asks, the system must not.
        opened.catch(() => undefined)
        batch.push({ claim, opened })
      } catch (error) {
        this.#skipped.add(name, error)
      }
    }
    return batch
  }

  #endIfStopped(): void {
    if (this.#order.stop.aborted && this.used.length === 0)
      throw new Failure('interrupted', 'interrupted; nothing was claimed', 'run the same command again')
  }

  /** @returns those that are this call's; the others were voided, or their devices have other profiles */
  async #commit(ready: readonly Taken[]): Promise<Taken[]> {
    if (ready.length === 0) return []
    this.#endIfStopped()
    this.#order.hold()
    await store.commit(this.#order.directory, ready, this.used)
    for (const { tag } of ready) this.#held.delete(tag)
    return ready.filter((each) => this.used.includes(each))
  }

  async #giveBack(claims: readonly store.Claim[]): Promise<void> {
    for (const each of claims) {
      this.#held.delete(each.tag)
      if (this.used.some(({ tag }) => tag === each.tag)) continue
      // Somebody else may have begun to finish one that this call was about to decide.
      if (await store.giveBack(this.#order.directory, each)) this.used.push(each)
    }
  }

  /**
   * Gives back what is too little, and stores and settles what killed calls have left.
   * @throws {Failure} if that does not help
   */
  async #comeShort(wanted: readonly Device[], ready: readonly Taken[]): Promise<void> {
    const { directory, messages } = this.#order
    await this.#giveBack(ready)
    await store.finishAnswers(directory, messages)
    await store.settle(directory, messages, this.used)
    const { unused, held } = this.unused.again()
    // Others may give back what they hold: they have too little of it, or it is for a device that has another one.
    const left = unused.length + held.filter(({ move }) => move === undefined).length - this.#skipped.count
    const missing = wanted.filter(
      (each) => each === undefined || store.recordOf(directory, each) === undefined,
    )
    if (left < missing.length) throw this.#shortage(ready.length)
  }

  /** What is said of too few profiles. */
  #shortage(usable: number): Failure {
    const { directory, devices, count } = this.#order
    this.#skipped.checkKey(1)
    if (usable > 0)
      return new Failure(
        'no-profiles',
        `at most ${usable} of ${devices?.length ?? count} requested profiles are available in ${directory}`,
        'softsim status -k KEY counts those that can be used; take fewer, or fetch more; nothing was claimed',
      )
    if (this.#skipped.count > 0)
      return new Failure(
        this.#skipped.with('unreadable').length > 0 ? 'disk' : 'unusable',
        `none of the unused profiles in ${directory} can be used`,
        'see the warning for each file; nothing was claimed',
      )
    return new Failure(
      'no-profiles',
      `no unused profile in ${directory}`,
      'check its name; softsim status says where its profiles are; if all are used, fetch more: see softsim help fetch',
    )
  }
}

const busy = (what: string): Failure =>
  new Failure(
    'no-profiles',
    `another call has claimed ${what}, or is about to`,
    'run this command again; if no other call is running, see softsim status',
  )

/** A profile that is neither unused nor used, and that no call holds. */
function elsewhere(directory: string, iccid: string, device: Device, state: 'held' | 'aside' | 'gone') {
  if (state === 'gone' && device !== undefined)
    return new Failure(
      'unusable',
      `device ${device} has ${iccid}, and its file is gone`,
      `put __${iccid}.json back from a backup; without it, the device keeps what it has, or is scrapped`,
    )
  const where = { held: 'in transit', aside: 'put aside by softsim restore', gone: `not in ${directory}` }
  const hint = 'check the ICCID and the directory; softsim status says where its profiles are'
  return new Failure('no-profiles', `${iccid} is ${where[state]}`, hint)
}
