import { Failure, reasonOf, UnusableProfile } from '../../failure.ts'
import type { Decrypt } from '../../key/decrypt.ts'
import { claimAll, comeBack } from '../../store/claim.ts'
import type { Outcome } from '../../store/create.ts'
import { isStoring } from '../../store/incoming/answers.ts'
import { fileName, whyNoProfile } from '../../store/names.ts'
import { isHeld } from '../../store/patience.ts'
import { Queue } from '../../store/queue.ts'
import { refuseAssigned } from '../../store/used-file.ts'
import { asUnsure, checkStop, makeReady, type Ready, type Source, Undelivered } from '../ready.ts'
import { Shortage, shortage } from './shortage.ts'
import { LOCKED_IN_A_ROW, Skipped } from './skipped.ts'

/** A profile, and what its used file is to say. */
export interface Wanted {
  readonly ready: Ready
  readonly text: string
}

/** One call's way through the unused profiles. */
export class Search {
  readonly queue: Queue
  readonly skipped: Skipped
  readonly #source: Source
  readonly #decrypt: Decrypt
  readonly #tried = new Set<string>()

  constructor(source: Source, decrypt: Decrypt) {
    this.queue = new Queue(source.directory, source.messages)
    this.skipped = new Skipped(source.key)
    this.#source = source
    this.#decrypt = decrypt
  }

  /**
   * Returns the next `count` profiles that can be handed out, or fewer at the end. They are not claimed yet.
   * @param isBegun whether the call has claimed any: then a signal does not end it here
   */
  async gather(count: number, isBegun: boolean): Promise<Ready[]> {
    const ready: Ready[] = []
    for (let isFirst = true; ready.length < count; isFirst = false) {
      // Many files that can't be used take long, and a signal is only seen when nothing else is to be done.
      if (!isFirst) await new Promise((resolve) => setImmediate(resolve))
      if (!isBegun) checkStop(this.#source.signals)
      const missing = count - ready.length
      // A few profiles are enough to find out that the key is wrong.
      const iccids = this.queue.next(this.skipped.isRightKey ? missing : Math.min(missing, LOCKED_IN_A_ROW))
      if (iccids.length === 0) return ready
      for (const each of await this.#openAll(iccids.filter((iccid) => !this.#tried.has(iccid))))
        ready.push(each)
    }
    return ready
  }

  async #openAll(iccids: readonly string[]): Promise<Ready[]> {
    const results = await Promise.allSettled(iccids.map((iccid) => this.#open(fileName(iccid))))
    return results.flatMap((result, at) => {
      const iccid = iccids[at] ?? ''
      this.#tried.add(iccid)
      if (result.status === 'rejected') {
        this.skipped.add(fileName(iccid), result.reason)
        return []
      }
      this.queue.noteGone(result.value === undefined)
      if (result.value === undefined) return []
      this.skipped.noteOpened()
      return [result.value]
    })
  }

  async #open(name: string, isSecond = false): Promise<Ready | undefined> {
    try {
      const ready = await makeReady(this.#source, this.#decrypt, name)
      if (ready !== undefined) refuseAssigned(ready.stored)
      return ready
    } catch (error) {
      // A running fetch may be writing it, where the file system has no hard links.
      if (isSecond || !(error instanceof UnusableProfile) || error.fault !== 'damaged') throw error
      if (!isStoring(this.#source.directory)) return this.#open(name, true)
      this.skipped.note(name, `a fetch may be writing it: ${error.message}`)
      return undefined
    }
  }

  /**
   * Claims profiles.
   * @returns those that are this call's
   * @throws {Failure} `not-claimed`; nothing is claimed
   * @throws {Undelivered} with what is claimed, or may be
   */
  async claim(wanted: readonly Wanted[]): Promise<Ready[]> {
    const { directory } = this.#source
    const outcomes = await claimAll(
      directory,
      wanted.map(({ text }) => text),
    ).catch((error): Outcome[] => wanted.map(() => ({ state: 'unclaimed', error })))
    const ours = wanted.flatMap(({ ready }, at) => (outcomes[at]?.state === 'ours' ? ready : []))
    const unsure = wanted.flatMap(({ ready }, at) =>
      outcomes[at]?.state === 'unknown' ? asUnsure(ready) : [],
    )
    try {
      for (const [at, outcome] of outcomes.entries()) this.#note(wanted[at]?.ready.name ?? '', outcome)
    } catch (error) {
      throw ours.length + unsure.length > 0 ? new Undelivered([...unsure, ...ours], error) : error
    }
    return ours
  }

  #note(name: string, outcome: Outcome): void {
    this.queue.noteGone(outcome.state === 'others')
    if (outcome.state === 'ours') this.skipped.noteClaimed()
    if (outcome.state === 'others') this.skipped.note(name, 'another call has claimed it')
    if (!('error' in outcome)) return
    const { state, error } = outcome
    if (state === 'unclaimed' && isHeld(error))
      this.skipped.add(
        name,
        new UnusableProfile('held', `it can't be marked as used: ${reasonOf(error)}`, { cause: error }),
      )
    else throw new Failure('not-claimed', `can't mark ${name} as used: ${reasonOf(error)}`, error)
  }

  /**
   * Makes what the call has claimed unused again, because it is too little.
   * @throws {Undelivered} with the profiles that stay used
   */
  async giveBack(taken: readonly Wanted[], error: unknown): Promise<never> {
    if (taken.length === 0) throw error
    const outcomes = await comeBack(
      this.#source.directory,
      taken.map(({ ready }) => ready),
    ).catch((): Outcome[] => [])
    const stuck = taken.flatMap(({ ready }, at) => {
      const { state } = outcomes[at] ?? {}
      // It is back, or somebody has claimed it with its ICCID.
      if (state === 'ours' || state === 'others') return []
      return state === 'unclaimed' ? ready : asUnsure(ready)
    })
    throw stuck.length > 0 ? new Undelivered(stuck, error) : error
  }

  tooFew(count: number, usable: number): Shortage {
    const wrong = this.skipped.wrongKey
    if (wrong !== undefined) return new Shortage(wrong.facts, wrong.message)
    return shortage(this.#source.directory, { count, usable }, this.queue.found, this.skipped)
  }

  /** Ends a search that failed. After a shortage, it names the files that explain it. */
  giveUp(error: unknown): void {
    if (error instanceof Shortage) {
      const { notProfiles, notProfileCount } = this.queue.found
      for (const name of notProfiles) this.skipped.note(name, whyNoProfile(name))
      this.skipped.noteMore(notProfileCount - notProfiles.length)
      this.skipped.warn(this.#source.messages)
    }
    this.queue.giveBack()
  }
}
