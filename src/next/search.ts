/** One call's way through the unused profiles: what it takes, what it skips, and why too few are left. */
import { Failure, reasonOf, UnusableProfile } from '../failure.ts'
import { wrongKey } from '../key/decrypt.ts'
import type { PrivateKey } from '../key/private-key.ts'
import { claimAll, comeBack } from '../store/claim.ts'
import type { Outcome } from '../store/decision.ts'
import { countReceived, isStoring } from '../store/incoming/answers.ts'
import { type Unused, whyNone } from '../store/listing.ts'
import { hasMovesOut } from '../store/move-journal.ts'
import { fileName, whyNoProfile } from '../store/names.ts'
import { attempt, isHeld } from '../store/patience.ts'
import { refuseAssigned } from '../store/profile-file.ts'
import { Queue } from '../store/queue.ts'
import { type Messages, several } from '../words.ts'
import { asUnsure, checkStop, makeReady, type Ready, type Source, Undelivered, type Wanted } from './ready.ts'

/** Another program may be using one file. If this many in a row can't be claimed, the directory is the problem. */
const HELD_IN_A_ROW = 5

/** One profile may be damaged. If this many in a row do not decrypt, the key is wrong. */
const LOCKED_IN_A_ROW = 5

const MOST_WARNINGS = 20

export class Search {
  readonly skipped: Skipped
  #queue: Queue | undefined
  readonly #source: Source
  readonly #tried = new Set<string>()

  constructor(source: Source) {
    this.skipped = new Skipped(source.key)
    this.#source = source
  }

  /** A call that names a profile does without one. */
  get queue(): Queue {
    this.#queue ??= new Queue(this.#source.directory, this.#source.messages)
    return this.#queue
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
      const names = iccids.map(fileName).filter((name) => !this.#tried.has(name))
      const results = await Promise.allSettled(names.map((name) => this.#open(name)))
      for (const [at, result] of results.entries()) {
        const name = names[at] ?? ''
        this.#tried.add(name)
        if (result.status === 'rejected') {
          this.skipped.add(name, result.reason)
          continue
        }
        this.queue.noteTaken(result.value === undefined)
        if (result.value === undefined) continue
        this.skipped.noteOpened()
        ready.push(result.value)
      }
    }
    return ready
  }

  async #open(name: string, isSecond = false): Promise<Ready | undefined> {
    try {
      const ready = await makeReady(this.#source, name)
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
  async claim(wanted: readonly Wanted[]): Promise<Wanted[]> {
    const texts = wanted.map(({ text }) => text)
    const outcomes = await claimAll(this.#source.directory, texts).catch((error): Outcome[] =>
      wanted.map(() => ({ state: 'unclaimed', error })),
    )
    const ours = wanted.filter((_, at) => outcomes[at]?.state === 'ours')
    const unsure = wanted.filter((_, at) => outcomes[at]?.state === 'unknown').map(asUnsure)
    try {
      for (const [at, outcome] of outcomes.entries()) this.#note(wanted[at]?.name ?? '', outcome)
    } catch (error) {
      throw ours.length + unsure.length > 0 ? new Undelivered([...unsure, ...ours], error) : error
    }
    return ours
  }

  #note(name: string, outcome: Outcome): void {
    this.queue.noteTaken(outcome.state === 'others')
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
  async giveBack(taken: readonly Ready[], error: unknown): Promise<never> {
    if (taken.length === 0) throw error
    const outcomes = await comeBack(this.#source.directory, taken).catch((): Outcome[] => [])
    const stuck = taken.flatMap((ready, at) => {
      const { state } = outcomes[at] ?? {}
      // It is back, or somebody has claimed it with its ICCID.
      if (state === 'ours' || state === 'others') return []
      return state === 'unclaimed' ? ready : asUnsure(ready)
    })
    throw stuck.length > 0 ? new Undelivered(stuck, error) : error
  }

  /** What a call says that finds too few profiles. The files that explain it are named. */
  tooFew(count: number, usable: number): Failure {
    const { directory, messages } = this.#source
    const { found } = this.queue
    for (const name of found.notProfiles) this.skipped.note(name, whyNoProfile(name))
    this.skipped.noteMore(found.notProfileCount - found.notProfiles.length)
    this.skipped.warn(messages)
    return this.skipped.wrongKey ?? shortage(directory, { count, usable }, found, this.skipped)
  }

  /** After a failure, others take what this call has reserved. */
  unreserve(): void {
    this.#queue?.unreserve()
  }
}

/** The files that a call skips: how many, and why. */
class Skipped {
  readonly #key: PrivateKey
  count = 0
  /** How many of them other programs have open. */
  held = 0
  /** How many of them can't be read, and why the last one can't be. */
  unreadable = 0
  unread: UnusableProfile | undefined
  /** Whether the key decrypts any profile. */
  isRightKey = false
  /** The first ones: a million would take too much memory. */
  readonly #warnings: string[] = []
  #more = 0
  #heldInARow = 0
  #locked = 0
  #lockedInARow = 0

  constructor(key: PrivateKey) {
    this.#key = key
  }

  noteOpened(): void {
    this.isRightKey = true
    this.#lockedInARow = 0
  }

  /** undefined if the key may be right. */
  get wrongKey(): Failure | undefined {
    return this.#locked > 0 && !this.isRightKey ? wrongKey(this.#key, this.#locked, true) : undefined
  }

  /**
   * Records why a file is skipped.
   * @throws {Failure} `key` if too many in a row do not decrypt, `disk` if too many in a row can't be claimed
   * @throws the error itself if it is not about this one file
   */
  add(name: string, error: unknown): void {
    if (!(error instanceof UnusableProfile)) throw error
    this.count++
    this.note(name, error.message)
    if (error.fault === 'held') this.held++
    if (error.fault === 'unreadable') {
      this.unreadable++
      this.unread = error
    }
    if (error.fault === 'unfit') this.noteOpened()
    if (error.fault === 'locked') this.#locked++
    if (error.fault === 'locked' && ++this.#lockedInARow >= LOCKED_IN_A_ROW)
      throw wrongKey(this.#key, this.#locked, true)
    if (error.fault === 'held' && ++this.#heldInARow >= HELD_IN_A_ROW) {
      const what = `${HELD_IN_A_ROW} profiles in a row can't be claimed; ${name}: ${error.message}`
      throw new Failure('not-claimed', what, error)
    }
  }

  noteClaimed(): void {
    this.#heldInARow = 0
  }

  /** Names a file without counting it: nothing is wrong with it, or it is no profile. */
  note(name: string, why: string): void {
    if (this.#warnings.length < MOST_WARNINGS) this.#warnings.push(`${name} is skipped: ${why}`)
    else this.#more++
  }

  /** The same for files that nobody needs to see by name. */
  noteMore(count: number): void {
    this.#more += count
  }

  warn(messages: Messages): void {
    for (const warning of this.#warnings) messages.warn(warning)
    if (this.#more > 0) messages.warn(`${several(this.#more, 'more file')} skipped`)
  }
}

/** What is said of too few profiles. The files that were skipped explain why. */
export function shortage(
  directory: string,
  { count, usable }: Readonly<{ count: number; usable: number }>,
  { used }: Pick<Unused, 'used'>,
  skipped: Pick<Skipped, 'count' | 'held' | 'unreadable' | 'unread'>,
): Failure {
  const { unreadable } = skipped
  if (unreadable > 0 && (usable === 0 || usable + unreadable >= count)) {
    const what = several(unreadable, 'unused profile')
    return new Failure('unreadable', `${what} in ${directory} can't be read`, skipped.unread)
  }
  if (usable > 0) {
    return new Failure(
      'too-few',
      `at most ${usable} of ${count} requested profiles are available in ${directory}`,
    )
  }
  const received = countReceived(directory)
  const pending = received > 0 ? ({ kind: 'received', count: received } as const) : undefined
  if (skipped.count === 0) {
    // What can't be read does not hide why the call fails.
    const isAnyMoved = attempt(() => hasMovesOut(directory)) ?? false
    const why = whyNone(directory, used, isAnyMoved)
    return new Failure(pending ?? why, `no unused profile in ${directory}`)
  }
  if (pending !== undefined) return new Failure(pending, `no unused profile in ${directory} can be used yet`)
  if (skipped.held === skipped.count) {
    const facts = { kind: 'all-held', claims: true } as const
    return new Failure(facts, `other programs have all unused profiles in ${directory} open`)
  }
  return new Failure('none-usable', `none of the unused profiles in ${directory} can be used`)
}
