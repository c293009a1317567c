/**
 * Which profiles a call gets: any, one for each device, or the one that it names. Each way is the same: hold what is
 * missing, decrypt and check it, decide it; and look again for what others were first to take.
 */
import { errnoOf, Failure } from '../failure.ts'
import type { Decrypt } from '../key/decrypt.ts'
import { pause } from '../pause.ts'
import * as store from '../store/directory.ts'
import { type Encoder, encode, makeReady, type Ready, type Taken, unusable } from './ready.ts'
import { LOCKED_IN_A_ROW, Skipped } from './skipped.ts'

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

/** How often a call looks again for what others were first to take. */
const ROUNDS = 100
const PAUSE_MS = 50

/** How often a call waits for one that holds its only profile. */
const MOST_WAITS = 5

/** How often others may give back what they have too little of. */
const MOST_SHORTAGES = 20

/** The serial number of a device; undefined if the profile is for none in particular. */
type Device = string | undefined

/** The profiles of one call. What it has decided is in `used`, also if it fails. */
export class Call {
  readonly skipped: Skipped
  readonly unused: store.Unused
  readonly used: store.Claim[] = []
  readonly #order: Order
  readonly #encoder: Encoder
  readonly #claimant: store.Claimant
  /** What it holds and has not decided. */
  #held: store.Claim[] = []
  #shortages = 0
  #waits = 0
  /** Whether the profile that the call names was unused at an earlier look. */
  #wasUnused = false

  constructor(order: Order, decrypt: Decrypt) {
    const { directory, key } = order
    this.#order = order
    this.#encoder = { ...order, decrypt }
    this.skipped = new Skipped(key)
    this.unused = new store.Unused(directory)
    const by = { station: store.stationName(), claimed: new Date().toISOString() }
    this.#claimant = { directory, guard: new store.Guard(directory), by }
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
      await this.#giveBack(this.#held).catch((other) => {
        if (errnoOf(other) === undefined) throw other
      })
      this.skipped.warn(this.#order.messages)
      throw error
    } finally {
      this.#claimant.guard.end()
    }
  }

  async #takeAll(): Promise<Taken[]> {
    const { count, devices, iccid } = this.#order
    const wanted: readonly Device[] = devices ?? Array.from({ length: count })
    const taken: Taken[] = []
    for (let rounds = 0; taken.length < wanted.length; rounds++) {
      if (rounds === ROUNDS) throw busy(iccid ?? 'the same profiles')
      if (rounds > 0) pause(PAUSE_MS)
      const done = new Set(taken.map(({ device }) => device))
      const missing = devices?.filter((device) => !done.has(device)) ?? wanted.slice(taken.length)
      const ready: Ready[] = []
      const open: Device[] = []
      for (const device of missing) {
        const record = device === undefined ? undefined : this.#recordFor(device)
        const only = iccid ?? record?.iccid
        const found = only === undefined ? undefined : await this.#lookFor(only, device)
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
  async #lookFor(iccid: string, device: Device): Promise<(Taken & { isAgain: true }) | Ready | undefined> {
    const { directory, key, messages } = this.#order
    try {
      const place = store.stateOf(directory, iccid)
      if (place.state === 'used') return await this.#again(iccid, device, place)
      if (place.state === 'gone') throw gone(directory, iccid, device)
      if (place.state === 'unused') {
        this.#wasUnused = true
        const claim = this.#hold(place.name, device)
        return claim && (await makeReady(this.#encoder, claim))
      }
      if (place.state === 'aside' || place.held.move !== undefined) throw elsewhere(iccid, place.state)
      if (this.#waits++ === MOST_WAITS) throw busy(iccid)
      await store.settle(directory, messages)
      store.refresh(directory)
      return undefined
    } catch (error) {
      throw unusable(key, device === undefined ? iccid : `the profile of device ${device}`, error)
    } finally {
      this.#claimant.guard.end()
    }
  }

  /** A used profile, to be printed again. A user who gives the ICCID knows which device it is for. */
  async #again(iccid: string, device: Device, { name, used, text }: Extract<store.State, { state: 'used' }>) {
    const owner = used.device
    if (device !== undefined && owner !== device)
      throw new Failure(
        'unusable',
        `device ${device} can't have ${iccid}: ${owner === undefined ? 'somebody' : `device ${owner}`} has it`,
        'check the serial number and the ICCID; if two devices have it, put both aside; nothing was claimed',
      )
    // Somebody else was first.
    if (device === undefined && this.#wasUnused) throw busy(iccid)
    const { line, cautions } = await encode(this.#encoder, name, text, true)
    const caution =
      device === undefined
        ? `${iccid} was handed out before: use it only for ${owner === undefined ? 'the same device' : `device ${owner}`}`
        : `device ${device} already has ${iccid}; printing the same profile again`
    // What a call that was killed before its print has left.
    const places = store.placesOf(this.#order.directory, { name, tag: used.claim ?? '' })
    return { iccid, device: owner, line, isAgain: true as const, places, cautions: [caution, ...cautions] }
  }

  /** @returns undefined if somebody else has it */
  #hold(name: string, device: Device): store.Claim | undefined {
    const claim = store.begin(this.#claimant, name, device)
    if (claim !== undefined) this.#held.push(claim)
    return claim
  }

  /**
   * Holds, decrypts and checks the next profiles that can be used.
   * @returns fewer at the end
   */
  async #holdNext(wanted: readonly Device[]): Promise<Ready[]> {
    const ready: Ready[] = []
    const open = [...wanted]
    let isEnd = false
    while (open.length > 0 && !isEnd) {
      this.#endIfStopped()
      // A few profiles are enough to find out that the key is wrong.
      const most = this.skipped.isRightKey ? open.length : Math.min(open.length, LOCKED_IN_A_ROW)
      const batch = this.#holdSome(open.splice(0, most))
      isEnd = batch.length < most
      const bad: store.Claim[] = []
      for (const { claim, opened } of batch) {
        const [result] = await Promise.allSettled([opened])
        if (result.status === 'fulfilled') {
          this.skipped.isRightKey = true
          ready.push(result.value)
          continue
        }
        bad.push(claim)
        open.push(claim.device)
        this.skipped.add(claim.name, result.reason)
      }
      await this.#giveBack(bad)
    }
    return ready
  }

  /**
   * Holds profiles, and begins to decrypt each one while it holds the next.
   * @returns fewer at the end
   */
  #holdSome(devices: readonly Device[]) {
    const batch: { readonly claim: store.Claim; readonly opened: Promise<Ready> }[] = []
    while (batch.length < devices.length) {
      const name = this.unused.next()
      if (name === undefined) break
      try {
        const claim = this.#hold(name, devices[batch.length])
        if (claim === undefined) continue
        const opened = makeReady(this.#encoder, claim)
        // If the call fails before it asks, the system must not.
        opened.catch(() => undefined)
        batch.push({ claim, opened })
      } catch (error) {
        this.skipped.add(name, error)
      }
    }
    this.#claimant.guard.end()
    return batch
  }

  #endIfStopped(): void {
    if (this.#order.stop.aborted && this.used.length === 0)
      throw new Failure('interrupted', 'interrupted; nothing was claimed', 'run the same command again')
  }

  /** @returns those that are this call's; the others were voided, or their devices have other profiles */
  async #commit(ready: readonly Ready[]): Promise<Ready[]> {
    if (ready.length === 0) return []
    this.#endIfStopped()
    this.#order.hold()
    const claims = ready.map(({ claim }) => claim)
    await store.commit(this.#order.directory, claims, this.used)
    this.#held = this.#held.filter((each) => !claims.includes(each))
    return ready.filter(({ claim }) => this.used.includes(claim))
  }

  async #giveBack(claims: readonly store.Claim[]): Promise<void> {
    const open = claims.filter((each) => !this.used.includes(each))
    this.#held = this.#held.filter((each) => !open.includes(each))
    // Somebody else may have begun to finish one that this call was about to decide.
    for (const { held } of await store.giveBack(this.#order.directory, open)) {
      const own = open.find(({ tag }) => tag === held.tag)
      if (own !== undefined) this.used.push(own)
    }
  }

  /**
   * Gives back what is too little, and stores and settles what killed calls have left.
   * @throws {Failure} if that does not help
   */
  async #comeShort(wanted: readonly Device[], ready: readonly Ready[]): Promise<void> {
    const { directory, messages } = this.#order
    await this.#giveBack(ready.map(({ claim }) => claim))
    await store.finishAnswers(directory, messages)
    await store.settle(directory, messages)
    // Others may give back what they hold: they have too little of it, or it is for a device that has another one.
    const listing = store.look(directory)
    const held = listing.held.filter(({ move }) => move === undefined)
    const left = listing.unused.length + held.length - this.skipped.count
    const missing = wanted.filter(
      (each) => each === undefined || store.recordOf(directory, each) === undefined,
    )
    if (left < missing.length || this.#shortages++ === MOST_SHORTAGES)
      throw this.#shortage(ready.length, listing)
    this.unused.again()
  }

  /** What is said of too few profiles. */
  #shortage(usable: number, { unused, used, held, aside }: store.Listing): Failure {
    const { wrongKey, unread } = this.skipped
    const { directory, devices, count } = this.#order
    if (wrongKey !== undefined) return wrongKey
    if (unread !== undefined)
      return new Failure(
        'disk',
        `some unused profiles in ${directory} can't be read`,
        'give this user permission to read the files; nothing was claimed',
        unread,
      )
    if (usable > 0)
      return new Failure(
        'no-profiles',
        `at most ${usable} of ${devices?.length ?? count} requested profiles are available in ${directory}`,
        'softsim status -k counts those that can be used; take fewer, or fetch more; nothing was claimed',
      )
    if (this.skipped.count > 0)
      return new Failure(
        'unusable',
        `none of the unused profiles in ${directory} can be used`,
        'see the warning for each file; nothing was claimed',
      )
    const { orders, answers } = store.waitingIn(directory)
    // What is unused here has a guard: another call is about to take it, or to give it back.
    const isElsewhere = [orders, held, unused, aside].some(({ length }) => length > 0)
    const hint =
      answers.length > 0
        ? 'an answer of the service in its .incoming can not be read: ask the service provider about its profiles'
        : isElsewhere
          ? 'some are held by other calls, in transit or put aside: softsim status says what helps'
          : used.length > 0
            ? 'all profiles in it are used; fetch more: see softsim help fetch'
            : 'check its name, and whether its disk is there; softsim status names what else is in it, softsim fetch gets profiles'
    return new Failure('no-profiles', `no unused profile in ${directory}`, hint)
  }
}

const busy = (what: string): Failure =>
  new Failure(
    'no-profiles',
    `another call has claimed ${what}, or is about to`,
    'run this command again; if no other call is running, see softsim status',
  )

const elsewhere = (iccid: string, state: 'aside' | 'held'): Failure =>
  new Failure(
    'no-profiles',
    `${iccid} is ${state === 'aside' ? 'put aside by softsim restore' : 'in transit to another directory'}`,
    'softsim status says where it goes, and what to do; nothing was claimed',
  )

const gone = (directory: string, iccid: string, device: Device): Failure =>
  device === undefined
    ? new Failure('no-profiles', `no profile ${iccid} in ${directory}`, 'check the ICCID and the directory')
    : new Failure(
        'unusable',
        `device ${device} has ${iccid}, and its file is gone`,
        `put __${iccid}.json back from a backup; without it, the device keeps what it has, or is scrapped`,
      )
