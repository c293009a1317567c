import { decryptor } from '../../key/decrypt.ts'
import { usedText } from '../../store/claim.ts'
import { byUs } from '../../store/used-file.ts'
import { beforeClaim, type Ready, type Source, type Taken, Undelivered } from '../ready.ts'
import { Search, type Wanted } from './search.ts'

/**
 * Claims the next `count` profiles that decrypt and that a device would accept: all of them or none. Skipped files
 * stay unchanged and are named in a warning.
 * @throws {Failure} `no-profiles`, `unusable`, `key` or `disk`; in each case, nothing is claimed
 * @throws {Undelivered} if the disk failed when some profiles were claimed
 */
export async function takeNextUnused(source: Source, count: number): Promise<Taken> {
  const { messages, signals } = source
  const search = new Search(source, await decryptor(source.key, count))
  const taken: Wanted[] = []
  const textOf = (ready: Ready) =>
    usedText(ready, undefined, count > 1 ? { ...byUs(), panel: count } : byUs())
  try {
    if (!search.queue.has(count)) throw search.tooFew(count, search.queue.found.iccids.length)
    while (taken.length < count) {
      const missing = count - taken.length
      const found = await search.gather(missing, taken.length > 0)
      if (found.length < missing) {
        const tooFew = search.tooFew(count, taken.length + found.length)
        await search.giveBack(taken.splice(0), tooFew)
      }
      if (taken.length === 0) beforeClaim(signals)
      const wanted = found.map((ready) => ({ ready, text: textOf(ready) }))
      const ours = new Set(await search.claim(wanted))
      for (const each of wanted) if (ours.has(each.ready)) taken.push(each)
    }
    search.skipped.warn(messages)
    return { taken: taken.map(({ ready }) => ready), left: search.queue.left }
  } catch (error) {
    search.giveUp(error)
    if (taken.length === 0) throw error
    const also = error instanceof Undelivered ? error.taken : []
    const cause = error instanceof Undelivered ? error.cause : error
    throw new Undelivered([...taken.map(({ ready }) => ready), ...also], cause)
  }
}
