import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { errnoOf, Failure, reasonOf } from '../../failure.ts'
import { flushDirectory } from '../flush/directory.ts'
import { writeFlushed } from '../flush/files.ts'
import { patiently } from '../patience.ts'
import { removeIfThere } from '../remove.ts'
import { fileRights } from '../rights.ts'
import { ANSWER, INCOMING, incomingPath, newAnswerName, type StoredProfile } from './answers.ts'
import type { Added } from './known.ts'
import { publish } from './publish.ts'
import { putAside, release } from './reserve.ts'
import type { Target } from './target.ts'

/**
 * A crash loses no profile once all of them are put aside in one file and flushed.
 * @param answer the name returned by `reserve`, if space was reserved
 * @throws {Failure} `lost`, or `put-aside`: the next call of `fetch` or `next` publishes what was put aside
 */
export async function add(
  target: Target,
  profiles: readonly StoredProfile[],
  answer: string = newAnswerName(),
): Promise<Added> {
  if (profiles.length === 0) {
    release(target, answer)
    return { stored: [], known: [] }
  }
  try {
    await putAside(target, answer, profiles)
  } catch (error) {
    const iccids = profiles.map(({ iccid }) => iccid)
    throw new Failure('lost', `received and can't be stored: ${iccids.join(' ')}: ${reasonOf(error)}`, error)
  }
  return publishAnswer(target, answer, profiles)
}

/**
 * @param kept the path for a copy of the answer, if one must stay
 * @throws {Failure} `put-aside`
 */
export async function publishAnswer(
  target: Target,
  answer: string,
  profiles: readonly StoredProfile[],
  kept?: string,
): Promise<Added> {
  const { directory } = target
  const path = incomingPath(directory, answer + ANSWER)
  const added: Added = { stored: [], known: [] }
  try {
    await publish(target, answer, profiles, added)
    await flushDirectory(directory)
    if (kept !== undefined) await writeFlushed(kept, readFileSync(path), fileRights(target.rights))
    patiently(() => removeIfThere(path))
    // FAT would lose stored profiles if the space of the answer were reused while the disk still has its name.
    await flushDirectory(join(directory, INCOMING)).catch(ignoreIfGone)
    return added
  } catch (error) {
    const facts = { kind: 'put-aside', stored: added.stored.length, known: added.known.length } as const
    throw new Failure(facts, `can't store profiles in ${directory}: ${reasonOf(error)}`, error)
  }
}

/** Another call has removed the empty place. */
function ignoreIfGone(error: unknown): void {
  if (errnoOf(error) !== 'ENOENT') throw error
}
