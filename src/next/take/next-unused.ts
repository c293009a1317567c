import { decryptor } from '../../key/decrypt.ts'
import { type Ready, type Source, type Taken, Undelivered } from '../ready.ts'
import { Search } from './search.ts'

/**
 * Claims the next `count` profiles that decrypt and that a device would accept: all of them or none. Skipped files
 * stay unchanged and are named in a warning. The claims are not flushed yet.
 * @throws {Failure} `no-profiles`, `unusable`, `key` or `disk`; in each case, nothing is claimed
 * @throws {Undelivered} if the disk failed, or other calls took over, when some claims were complete
 */
export async function takeNextUnused(source: Source, count: number): Promise<Taken> {
  const { messages } = source
  const search = new Search(source, await decryptor(source.key, count))
  const taken: Ready[] = []
  try {
    if (!search.queue.has(count)) throw search.tooFew(count, search.queue.found.iccids.length)
    while (taken.length < count) {
      // All of them are begun before the first is complete: only a claim that is not complete can be released.
      search.completeAll(await search.beginAll(count - taken.length), taken)
    }
    search.skipped.warn(messages)
    return { taken, left: search.queue.left }
  } catch (error) {
    search.giveUp(error)
    throw taken.length > 0 ? new Undelivered(taken, error) : error
  }
}
