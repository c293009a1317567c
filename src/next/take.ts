import { Failure, reasonOf, UnusableProfile } from '../failure.ts'
import { type Decrypt, decryptor } from '../profile/decrypt.ts'
import { claim, unclaim } from '../store/claim.ts'
import { flushDirectorySync, flushFiles, flushUnlessGone } from '../store/flush.ts'
import { fileName } from '../store/names.ts'
import { Queue } from '../store/queue.ts'
import { beforeClaim } from './deliver.ts'
import { PassedOver } from './passed-over.ts'
import { makeReady, type Ready, type Source } from './ready.ts'
import { LOCKED_IN_A_ROW } from './wrong-key.ts'

/**
 * Claims the next `count` profiles that decrypt and that a device would accept: all of them or none. Skipped files
 * stay unchanged and are named in a warning. The claims are not flushed yet.
 * @returns the profiles, and how many unused ones remain
 * @throws {Failure} `no-profiles`, `unusable`, `key` or `disk`; in each case, nothing is claimed
 */
export async function take(source: Source, count: number): Promise<{ taken: Ready[]; left: number }> {
  const { directory, messages, signals } = source
  const search = new Search(source, await decryptor(source.key, count))
  const taken: Ready[] = []
  try {
    if (!search.queue.has(count)) throw search.tooFew(count, search.queue.left)
    while (taken.length < count) {
      const missing = count - taken.length
      const ready = await search.gather(missing)
      if (ready.length < missing) throw search.tooFew(count, taken.length + ready.length)
      beforeClaim(ready, signals)
      for (const each of ready) if (search.claim(each)) taken.push(each)
    }
    search.passedOver.warn(messages)
    return { taken, left: search.queue.left }
  } catch (error) {
    if (error === search.shortage) search.passedOver.warn(messages)
    search.queue.giveBack()
    await takeBack(directory, taken)
    throw error
  } finally {
    for (const name of search.queue.finished) {
      const iccid = name.replace(/\.json$/, '')
      messages.warn(
        `${iccid} is marked used but was not printed: a call was killed while claiming it; use --iccid ${iccid} to print it`,
      )
    }
  }
}

/** @throws {Failure} `disk`, with the names of the profiles that stay claimed */
async function takeBack(directory: string, taken: readonly Ready[]): Promise<void> {
  if (taken.length === 0) return
  const stuck: string[] = []
  for (const { name, iccid } of taken) {
    try {
      unclaim(directory, name)
    } catch (error) {
      stuck.push(`${iccid} (${reasonOf(error)})`)
    }
  }
  if (stuck.length > 0) throw new Failure('disk', `claimed but not delivered: ${stuck.join(', ')}`)
  try {
    await flushFiles(
      directory,
      taken.map(({ name }) => name),
      flushUnlessGone,
    )
    flushDirectorySync(directory)
  } catch (error) {
    throw new Failure('disk', `can't flush the directory ${directory}: ${reasonOf(error)}`, { cause: error })
  }
}

class Search {
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
    const results = await Promise.allSettled(
      iccids.map((iccid) => makeReady(this.#source, this.#decrypt, fileName(iccid))),
    )
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

  tooFew(count: number, usable: number): Failure {
    for (const name of this.queue.strangers)
      this.passedOver.add(name, new UnusableProfile('damaged', 'its name is not an ICCID'))
    this.shortage = this.passedOver.key.isWrong
      ? this.passedOver.key.failure()
      : shortage(this.#source.directory, count, usable, this.passedOver.count, this.queue.used)
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
          : 'check -i and that the disk is mounted, or download profiles with softsim fetch',
    })
  }
  return new Failure('unusable', `none of the unused profiles in ${directory} can be used`, {
    hint: 'see the warning for each file; nothing was claimed',
  })
}
