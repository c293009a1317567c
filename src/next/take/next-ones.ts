import { join } from 'node:path'
import { Failure, reasonOf } from '../../failure.ts'
import { decryptor } from '../../key/decrypt.ts'
import { unclaim } from '../../store/claim.ts'
import { flushDirectorySync } from '../../store/flush/directory.ts'
import { flushFiles, flushUnlessGone } from '../../store/flush/files.ts'
import { beforeClaim } from '../deliver.ts'
import type { Ready, Source } from '../ready.ts'
import { Search } from './search.ts'

/**
 * Claims the next `count` profiles that decrypt and that a device would accept: all of them or none. Skipped files
 * stay unchanged and are named in a warning. The claims are not flushed yet.
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
      beforeClaim(signals)
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
    search.warnOfFinished()
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
  if (stuck.length > 0) {
    throw new Failure('disk', `claimed but not delivered: ${stuck.join(', ')}`, {
      hint: 'check the disk and the permissions of the directory; --iccid prints these profiles',
    })
  }
  try {
    await flushFiles(
      taken.map(({ name }) => join(directory, name)),
      flushUnlessGone,
    )
    flushDirectorySync(directory)
  } catch (error) {
    throw new Failure('disk', `can't flush the directory ${directory}: ${reasonOf(error)}`, {
      hint: 'check the disk; nothing was printed, but after a power cut these profiles may count as used',
      cause: error,
    })
  }
}
