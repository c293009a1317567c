/**
 * Which profiles a call gets: any, one for each device, or the one that it names. Each way is the same: hold what is
 * missing, decrypt and check it, decide it; and look again for what others were first to take.
 */
import { errnoOf, Failure } from '../failure.ts'
import { pause } from '../pause.ts'
import { NRF_REJECTS } from '../profile/check.ts'
import * as store from '../store/directory.ts'
import { several } from '../words.ts'
import { type Encoder, encode, makeReady, type Ready, unusable } from './ready.ts'
import { LOCKED_IN_A_ROW, Skipped } from './skipped.ts'

/** What a call wants. */
export interface Wish extends Encoder {
  readonly directory: string
  /** 1 if `iccid` is given. */
  readonly count: number
  /** The serial numbers of the devices that profiles are wanted for; one if `iccid` is given. */
  readonly devices?: readonly string[] | undefined
  /** Take this profile, used or not. */
  readonly iccid?: string | undefined
  /** Fail if one of the devices has a profile already. */
  readonly isNew?: boolean | undefined
  /** Whether the call was asked to stop. */
  readonly stop: AbortSignal
  /** Called before the first decision: from now on, a signal must not end the process at once. */
  hold(): void
}

/** A profile that is used, durable, and to be printed. */
export interface Taken {
  /** The digits, without a filler. */
  readonly iccid: string
  /** X */
  readonly name: string
  readonly device?: string | undefined
  readonly line: string
  /** Whether it was handed out before. */
  readonly isAgain: boolean
  readonly claim: Pick<store.Claim, 'places'>
  /** What a person must know of it. */
  readonly cautions: readonly string[]
}

/** How often a call looks again for what others were first to take. */
const ROUNDS = 100
const PAUSE_MS = 50

/** How often a call waits for one that holds its only profile. */
const MOST_WAITS = 5

/** How often others may give back what they have too little of. */
const MOST_SHORTAGES = 20

/** The profiles of one call. What it has decided is in `used`, also if it fails. */
export class Call {
  readonly wish: Wish
  readonly skipped: Skipped
  readonly unused: store.Unused
  readonly used: store.Claim[] = []
  readonly #claimant: store.Claimant
  /** What it holds and has not decided. */
  #held: store.Claim[] = []
  #shortages = 0
  #waits = 0
  /** Whether the profile that the call names was unused at an earlier look. */
  #wasFree = false

  constructor(wish: Wish) {
    this.wish = wish
    this.skipped = new Skipped(wish.key)
    this.unused = new store.Unused(wish.directory)
    const by = { station: store.stationName(), claimed: new Date().toISOString() }
    this.#claimant = { directory: wish.directory, guard: new store.Guard(wish.directory), by }
  }

  /**
   * Claims profiles: all that the call asks for, or none.
   * @throws {Failure} nothing is used then, but what is in `used`
   */
  async take(): Promise<Taken[]> {
    const { count, devices, iccid } = this.wish
    try {
      return iccid !== undefined
        ? [await this.#takeNamed(iccid, devices?.[0])]
        : await this.#takeAll(devices ?? Array.from({ length: count }))
    } catch (error) {
      await this.#giveBack(this.#held).catch((other) => {
        if (errnoOf(other) === undefined) throw other
      })
      this.skipped.warn(this.wish.messages)
      throw error
    } finally {
      this.#claimant.guard.end()
    }
  }

  /** @param wanted for which devices; undefined for none */
  async #takeAll(wanted: readonly (string | undefined)[]): Promise<Taken[]> {
    const taken: Taken[] = []
    for (let rounds = ROUNDS; taken.length < wanted.length; rounds--) {
      const missing = wanted.slice(wanted[0] === undefined ? taken.length : 0)
      const devices = new Set(taken.map(({ device }) => device))
      const ready: Ready[] = []
      const open: (string | undefined)[] = []
      for (const device of missing) {
        if (device !== undefined && devices.has(device)) continue
        if (rounds === 0)
          throw busy(device === undefined ? 'the same profiles' : `the profile of device ${device}`)
        const record = device === undefined ? undefined : this.#recordFor(device)
        const found = record === undefined ? 'open' : await this.#lookFor(record.iccid, device)
        if (found === 'open') open.push(device)
        else if (found !== 'busy' && 'isAgain' in found) taken.push(found)
        else if (found !== 'busy') ready.push(found)
      }
      const next = await this.#holdNext(open)
      if (next.length < open.length) await this.#comeShort(open, [...ready, ...next])
      else for (const each of await this.#commit([...ready, ...next])) taken.push(takenBy(each))
      if (taken.length < wanted.length) pause(PAUSE_MS)
    }
    const orderOf = ({ device }: Taken) => (device === undefined ? 0 : wanted.indexOf(device))
    return taken.sort((one, other) => orderOf(one) - orderOf(other))
  }

  /** A user who gives the ICCID knows which device it is for. */
  async #takeNamed(iccid: string, device: string | undefined): Promise<Taken> {
    for (let rounds = ROUNDS; rounds > 0; rounds--) {
      const record = device === undefined ? undefined : this.#recordFor(device)
      if (record !== undefined && record.iccid !== iccid)
        throw hasProfile(record, 'scan the device again; if it is the right one, leave out the ICCID')
      const found = await this.#lookFor(iccid, device)
      if (found !== 'busy' && 'isAgain' in found) return found
      const [own] = found === 'busy' ? [] : await this.#commit([found])
      if (own !== undefined) return takenBy(own)
      pause(PAUSE_MS)
    }
    throw busy(iccid)
  }

  /** @throws {Failure} if the device may not get a profile */
  #recordFor(device: string): store.DeviceRecord | undefined {
    const { directory, isNew, messages } = this.wish
    const record = store.recordOf(directory, device)
    const isOurs = this.used.some((each) => each.device === device)
    if (record !== undefined && isNew && !isOurs)
      throw hasProfile(
        record,
        'scan the device again; without --new, the same profile is printed again; nothing was claimed',
      )
    const twin = record === undefined ? store.twinOf(directory, device) : undefined
    if (twin === undefined) return record
    if (isNew) {
      messages.warn(`device ${device} is taken for another one than ${twin}`)
      return undefined
    }
    throw new Failure(
      'usage',
      `device ${twin} has a profile, and ${device} may be the same device`,
      `if it is, use its serial number as it was; if it really is another device, add --new; nothing was claimed`,
    )
  }

  /**
   * The one profile that will do: used, to be printed again, or unused, and held now.
   * @param device undefined if the call names only the profile
   * @returns `busy` if another call is in between
   */
  async #lookFor(iccid: string, device: string | undefined): Promise<Taken | Ready | 'busy'> {
    const { directory, messages } = this.wish
    const what = device === undefined ? iccid : `the profile of device ${device}`
    const place = this.#stateOf(iccid, what)
    if (place.state === 'used') {
      const owner = place.used.device
      if (device !== undefined && owner !== device)
        throw new Failure(
          'unusable',
          `device ${device} can't have ${iccid}: ${owner === undefined ? 'somebody' : `device ${owner}`} has it`,
          'check the serial number and the ICCID; if two devices have it, put both aside; nothing was claimed',
        )
      // Somebody else was first.
      if (device === undefined && this.#wasFree) throw busy(iccid)
      return this.#again(place)
    }
    if (place.state === 'unused') {
      this.#wasFree = true
      return (await this.#holdNamed(place.name, device, what)) ?? 'busy'
    }
    if (place.state !== 'held') throw missing(directory, iccid, place.state, device)
    if (place.held.move !== undefined) throw inTransit(iccid)
    if (this.#waits++ === MOST_WAITS) throw busy(iccid)
    await store.settle(directory, messages)
    store.refresh(directory)
    return 'busy'
  }

  #stateOf(iccid: string, what: string): store.State {
    const { directory, key } = this.wish
    try {
      return store.stateOf(directory, iccid)
    } catch (error) {
      throw unusable(key, what, error)
    }
  }

  /** A used profile, to be printed again. */
  async #again({ name, used, text }: Extract<store.State, { state: 'used' }>): Promise<Taken> {
    const { key, devices } = this.wish
    const iccid = store.iccidOf(name) ?? ''
    try {
      const { line, newerProblems } = await encode(this.wish, name, text)
      const whom = used.device === undefined ? 'the same device' : `device ${used.device}`
      const caution =
        devices === undefined
          ? `${iccid} was handed out before: use it only for ${whom}`
          : `device ${used.device} already has ${iccid}; printing the same profile again`
      const outdated = `newer devices would reject ${iccid}: ${newerProblems.join(', ')}; printed only because it was handed out before: if the device rejects it, put the device aside`
      return {
        iccid,
        name,
        device: used.device,
        line,
        isAgain: true,
        // What a call that was killed before its print has left.
        claim: { places: store.placesOf(this.wish.directory, { name, tag: used.claim ?? '' }) },
        cautions: newerProblems.length === 0 ? [caution] : [caution, outdated],
      }
    } catch (error) {
      throw unusable(key, iccid, error)
    }
  }

  /** Holds a profile that no other one can replace. */
  async #holdNamed(name: string, device: string | undefined, what: string): Promise<Ready | undefined> {
    const { key } = this.wish
    try {
      const claim = store.begin(this.#claimant, name, device)
      if (claim === undefined) return undefined
      this.#held.push(claim)
      return await makeReady(this.wish, claim)
    } catch (error) {
      throw unusable(key, what, error)
    } finally {
      this.#claimant.guard.end()
    }
  }

  /**
   * Holds, decrypts and checks the next profiles that can be used.
   * @param wanted for which devices; undefined for none
   * @returns fewer at the end
   */
  async #holdNext(wanted: readonly (string | undefined)[]): Promise<Ready[]> {
    const { stop } = this.wish
    const ready: Ready[] = []
    const open = [...wanted]
    while (open.length > 0) {
      if (stop.aborted && this.used.length === 0)
        throw new Failure('interrupted', 'interrupted; nothing was claimed', 'run the same command again')
      // A few profiles are enough to find out that the key is wrong.
      const most = this.skipped.isRightKey ? open.length : Math.min(open.length, LOCKED_IN_A_ROW)
      const batch: store.Claim[] = []
      let name: string | undefined
      while (batch.length < most) {
        name = this.unused.next()
        if (name === undefined) break
        try {
          const claim = store.begin(this.#claimant, name, open[batch.length])
          if (claim === undefined) continue
          batch.push(claim)
          this.#held.push(claim)
        } catch (error) {
          this.skipped.add(name, error)
        }
      }
      this.#claimant.guard.end()
      open.splice(0, batch.length)
      const results = await Promise.allSettled(batch.map((claim) => makeReady(this.wish, claim)))
      const bad: store.Claim[] = []
      for (const [at, result] of results.entries()) {
        const claim = batch[at] as store.Claim
        if (result.status === 'fulfilled') {
          this.skipped.noteOpened()
          ready.push(result.value)
          continue
        }
        bad.push(claim)
        open.push(claim.device)
        this.skipped.add(claim.name, result.reason)
      }
      await this.#giveBack(bad)
      if (name === undefined && batch.length < most) break
    }
    return ready
  }

  /** @returns those that are this call's; the others were voided, or their devices have other profiles */
  async #commit(ready: readonly Ready[]): Promise<Ready[]> {
    const { directory, stop } = this.wish
    if (ready.length === 0) return []
    if (this.used.length === 0) {
      if (stop.aborted)
        throw new Failure('interrupted', 'interrupted; nothing was claimed', 'run the same command again')
      this.wish.hold()
    }
    const claims = ready.map(({ claim }) => claim)
    await store.commit(directory, claims, this.used)
    this.#held = this.#held.filter((each) => !claims.includes(each))
    return ready.filter(({ claim }) => this.used.includes(claim))
  }

  async #giveBack(claims: readonly store.Claim[]): Promise<void> {
    const open = claims.filter((each) => !this.used.includes(each))
    this.#held = this.#held.filter((each) => !open.includes(each))
    // Somebody else may have begun to finish one that this call was about to decide.
    for (const { held } of await store.giveBack(this.wish.directory, open)) {
      const own = open.find(({ tag }) => tag === held.tag)
      if (own !== undefined) this.used.push(own)
    }
  }

  /**
   * Gives back what is too little, and stores and settles what killed calls have left.
   * @throws {Failure} if that does not help
   */
  async #comeShort(wanted: readonly (string | undefined)[], ready: readonly Ready[]): Promise<void> {
    const { directory, messages } = this.wish
    await this.#giveBack(ready.map(({ claim }) => claim))
    await store.finishAnswers(directory, messages)
    await store.settle(directory, messages)
    // Others may give back what they hold: they have too little of it, or it is for a device that has another one.
    const { unused, held } = store.look(directory)
    const left = unused.length + held.filter(({ move }) => move === undefined).length - this.skipped.count
    const missing = wanted.filter(
      (each) => each === undefined || store.recordOf(directory, each) === undefined,
    )
    if (left < missing.length || this.#shortages++ === MOST_SHORTAGES) throw this.#tooFew(ready.length)
    this.unused.again()
  }

  /** What a call says that finds too few profiles. The files that explain it are named. */
  #tooFew(usable: number): Failure {
    const { count, directory, messages } = this.wish
    const { names, count: odd } = store.oddNames(store.look(directory))
    for (const name of names) messages.warn(`${name} is skipped: its name is not an ICCID and .json`)
    if (odd > names.length) messages.warn(`${several(odd - names.length, 'more file')} skipped`)
    return this.skipped.wrongKey ?? shortage(directory, count, usable, this.skipped)
  }
}

/** What is said of too few profiles. */
function shortage(directory: string, count: number, usable: number, skipped: Skipped): Failure {
  const { unreadable } = skipped
  if (unreadable > 0) {
    const hint = 'give this user permission to read the files; nothing was claimed'
    return new Failure(
      'disk',
      `${several(unreadable, 'unused profile')} in ${directory} can't be read`,
      hint,
      skipped.unread,
    )
  }
  if (usable > 0) {
    return new Failure(
      'no-profiles',
      `at most ${usable} of ${count} requested profiles are available in ${directory}`,
      'softsim status -k counts those that can be used; take fewer, or fetch more; nothing was claimed',
    )
  }
  if (skipped.count > 0)
    return new Failure(
      'unusable',
      `none of the unused profiles in ${directory} can be used`,
      'see the warning for each file; nothing was claimed',
    )
  const { unused, used, held, aside } = store.look(directory)
  // What is unused here has a guard: another call is about to take it, or to give it back.
  const withheld = held.length + unused.length
  const { orders, answers } = store.waitingIn(directory)
  const hint =
    orders.length > 0
      ? 'a move into it was interrupted: run that command again'
      : answers.length > 0
        ? 'an answer of the service in its .incoming can not be read: ask the service provider about its profiles'
        : withheld > 0
          ? `${several(withheld, 'profile')} held by other calls or in transit: see softsim status`
          : aside.length > 0
            ? `${several(aside.length, 'profile')} put aside by restore: see softsim status`
            : used.length > 0
              ? 'all profiles in it are used; fetch more: see softsim help fetch'
              : 'check the name of the directory, and whether its disk is there, or download profiles with softsim fetch'
  return new Failure('no-profiles', `no unused profile in ${directory}`, hint)
}

function takenBy({ claim, line, missingKeys }: Ready): Taken {
  const { iccid, name, device } = claim
  const cautions =
    missingKeys.length === 0 ? [] : [`${iccid} has no ${missingKeys.join(' and no ')}: ${NRF_REJECTS}`]
  return { iccid, name, device, line, isAgain: false, claim, cautions }
}

const busy = (what: string): Failure =>
  new Failure(
    'no-profiles',
    `another call has claimed ${what}, or is about to`,
    'run this command again; if no other call is running, see softsim status',
  )

const hasProfile = ({ device, iccid }: store.DeviceRecord, hint: string): Failure =>
  new Failure('has-profile', `device ${device} already has ${iccid}`, hint)

const inTransit = (iccid: string): Failure =>
  new Failure(
    'no-profiles',
    `${iccid} is in transit to another directory`,
    'run the move again: softsim status says where it goes; nothing was claimed',
  )

function missing(directory: string, iccid: string, state: 'aside' | 'gone', device?: string): Failure {
  // The directory itself may be gone.
  store.look(directory)
  if (state === 'aside')
    return new Failure(
      'no-profiles',
      `${iccid} was put aside by softsim restore: a receipt says that it left ${directory}`,
      'take it from the directory that it was moved to',
    )
  if (device === undefined)
    return new Failure(
      'no-profiles',
      `no profile ${iccid} in ${directory}`,
      'check the ICCID and the directory',
    )
  const hint = `put __${iccid}.json back from a backup; without it, the device keeps what it has, or is scrapped`
  return new Failure('unusable', `device ${device} has ${iccid}, and its file is gone`, hint)
}
