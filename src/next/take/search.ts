import { Failure, UnusableProfile } from '../../failure.ts'
import type { Decrypt } from '../../key/decrypt.ts'
import { begin, complete, release } from '../../store/claim/claim.ts'
import { isTakenOver } from '../../store/claim/use.ts'
import { refuseAssigned } from '../../store/devices/record.ts'
import { flushDirectorySync } from '../../store/flush/directory.ts'
import { isFetching } from '../../store/incoming/answers.ts'
import { fileName, whyNoProfile } from '../../store/names.ts'
import { Queue } from '../../store/queue.ts'
import { beforeClaim, checkStop, makeReady, type Ready, type Source } from '../ready.ts'
import { Shortage, shortage } from './shortage.ts'
import { LOCKED_IN_A_ROW, Skipped } from './skipped.ts'

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
   * Begins to claim the next `count` profiles that can be handed out: all of them or none.
   * @throws {Failure} in each case, nothing is claimed, or the profiles that stay claimed are named
   */
  async beginAll(count: number): Promise<Ready[]> {
    const begun: Ready[] = []
    try {
      while (begun.length < count) {
        const missing = count - begun.length
        const found = await this.gather(missing)
        if (found.length < missing) throw this.tooFew(count, begun.length + found.length)
        beforeClaim(this.#source.signals)
        for (const ready of found) if (this.begin(ready)) begun.push(ready)
      }
      return begun
    } catch (error) {
      this.releaseAll(begun)
      throw error
    }
  }

  /** Returns the next `count` profiles that can be handed out, or fewer at the end. They are not claimed yet. */
  async gather(count: number): Promise<Ready[]> {
    const ready: Ready[] = []
    for (let isFirst = true; ready.length < count; isFirst = false) {
      // Many files that can't be used take long, and a signal is only seen when nothing else is to be done.
      if (!isFirst) await new Promise((resolve) => setImmediate(resolve))
      checkStop(this.#source.signals)
      const missing = count - ready.length
      // A few profiles are enough to find out that the key is wrong.
      const iccids = this.queue.next(this.skipped.isRightKey ? missing : Math.min(missing, LOCKED_IN_A_ROW))
      if (iccids.length === 0) return ready
      ready.push(...(await this.#openAll(iccids.filter((iccid) => !this.#tried.has(iccid)))))
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
      return isFetching(this.#source.directory) ? undefined : this.#open(name, true)
    }
  }

  /** Returns false if another process was first or is using the file. */
  begin({ name }: Ready, create?: (path: string) => void): boolean {
    try {
      const isOurs = begin(this.#source.directory, name, create)
      this.queue.noteGone(!isOurs)
      return isOurs
    } catch (error) {
      this.skipped.add(name, error)
      return false
    }
  }

  /**
   * Completes plain claims. If one fails, the rest is released.
   * @param taken receives the profiles that are this call's
   * @throws {Failure} `disk`
   */
  completeAll(begun: readonly Ready[], taken: Ready[]): void {
    for (const [at, ready] of begun.entries()) {
      try {
        if (this.#complete(ready)) taken.push(ready)
      } catch (error) {
        this.releaseAll(begun.slice(at + 1))
        throw error
      }
    }
  }

  /** Returns false if another process has the profile, or is using the file. */
  #complete({ name, stored }: Ready): boolean {
    try {
      const isOurs = complete(this.#source.directory, name, stored)
      if (isOurs) this.skipped.noteClaimed()
      else this.noteLost(name)
      return isOurs
    } catch (error) {
      this.skipped.add(name, error)
      return false
    }
  }

  /** Whether another call has taken over the claim of a profile, before it is recorded for a device. */
  isLost({ name }: Ready): boolean {
    const isLost = isTakenOver(this.#source.directory, name)
    if (isLost) this.noteLost(name)
    return isLost
  }

  noteLost(name: string): void {
    this.queue.noteGone(true)
    this.skipped.note(name, 'it is now used, but not claimed by this call')
  }

  /** @throws {Failure} `disk`, with the names of the profiles that stay claimed */
  releaseAll(begun: readonly Ready[]): void {
    if (begun.length === 0) return
    const { directory } = this.#source
    const stuck: string[] = []
    for (const { name } of begun) {
      try {
        release(directory, name)
      } catch (error) {
        stuck.push(error instanceof Failure ? error.message : name)
      }
    }
    if (stuck.length > 0) throw new Failure('stuck-claims', stuck.join('; '))
    try {
      flushDirectorySync(directory)
    } catch {
      // After a power cut, the next call that reads the directory finds claims that are not complete.
    }
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
