import { Failure, UnusableProfile } from '../../failure.ts'
import type { Decrypt } from '../../key/decrypt.ts'
import { LOCKED_IN_A_ROW } from '../../key/wrong-key.ts'
import { claim } from '../../store/claim.ts'
import { refuseOwned } from '../../store/devices.ts'
import { fileName } from '../../store/names.ts'
import { Queue, tellFinished } from '../../store/queue.ts'
import { diskPresence } from '../../words.ts'
import { makeReady, type Ready, type Source } from '../ready.ts'
import { PassedOver } from './passed-over.ts'

/** One call's way through the unused profiles. */
export class Search {
  readonly queue: Queue
  readonly passedOver = new PassedOver()
  shortage: Failure | undefined
  readonly #source: Source
  readonly #decrypt: Decrypt
  readonly #tried = new Set<string>()

  constructor(source: Source, decrypt: Decrypt) {
    this.queue = new Queue(source.directory)
    this.#source = source
    this.#decrypt = decrypt
  }

  /** Returns the next `count` profiles that can be handed out, or fewer at the end. They are not claimed yet. */
  async gather(count: number): Promise<Ready[]> {
    const ready: Ready[] = []
    while (ready.length < count) {
      const missing = count - ready.length
      // A few profiles are enough to find out that the key is wrong.
      const iccids = this.queue.next(
        this.passedOver.key.isRight ? missing : Math.min(missing, LOCKED_IN_A_ROW),
      )
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
        this.passedOver.add(fileName(iccid), result.reason)
        return []
      }
      this.queue.noteGone(result.value === undefined)
      if (result.value === undefined) return []
      this.passedOver.key.noteOpened()
      return [result.value]
    })
  }

  async #open(name: string): Promise<Ready | undefined> {
    const ready = await makeReady(this.#source, this.#decrypt, name)
    if (ready !== undefined) refuseOwned(ready.stored)
    return ready
  }

  /** Claims a profile. Returns false if another process was first or is using the file. */
  claim({ name }: Ready): boolean {
    try {
      const isOurs = claim(this.#source.directory, name)
      this.queue.noteGone(!isOurs)
      this.passedOver.noteClaimed()
      return isOurs
    } catch (error) {
      this.passedOver.add(name, error)
      return false
    }
  }

  /** Tells of claims that other calls had begun: their profiles are used now. */
  warnOfFinished(): void {
    tellFinished(this.queue.finished, this.#source.messages)
  }

  tooFew(count: number, usable: number): Failure {
    const passedOver = this.passedOver.count
    for (const name of this.queue.strangers)
      this.passedOver.add(name, new UnusableProfile('damaged', 'its name is not an ICCID'))
    this.passedOver.count += this.queue.strangerCount - this.queue.strangers.length
    this.shortage = this.passedOver.key.isWrong
      ? this.passedOver.key.failure()
      : shortage(this.#source.directory, count, usable, passedOver, this.queue.used)
    return this.shortage
  }
}

function shortage(directory: string, count: number, usable: number, passedOver: number, used: number) {
  if (usable > 0) {
    return new Failure(
      'no-profiles',
      `at most ${usable} of ${count} requested profiles are available in ${directory}`,
      {
        hint: 'take fewer, or fetch more: see softsim help fetch; nothing was claimed',
      },
    )
  }
  if (passedOver === 0) {
    return new Failure('no-profiles', `no unused profile in ${directory}`, {
      hint:
        used > 0
          ? 'all profiles in it are used; fetch more: see softsim help fetch'
          : `check -i and ${diskPresence()}, or download profiles with softsim fetch`,
    })
  }
  return new Failure('unusable', `none of the unused profiles in ${directory} can be used`, {
    hint: 'see the warning for each file; nothing was claimed',
  })
}
