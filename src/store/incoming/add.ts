import { closeSync, linkSync, openSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errnoOf, Failure, reasonOf } from '../../failure.ts'
import { exists, fileRights, removeIfThere } from '../directory-entries.ts'
import { FLUSHES_AT_ONCE, flushDirectory, flushFile, flushFiles, writeFlushed } from '../flush/flush.ts'
import { fileName, hasFiller, pathIn } from '../names.ts'
import { patiently } from '../patience.ts'
import { type Added, find, flushKnown } from './already-stored.ts'
import {
  ANSWER,
  answerPath,
  INCOMING,
  incomingPath,
  newAnswerName,
  type StoredProfile,
  toFile,
} from './answers.ts'
import { publishInPlace } from './in-place.ts'
import { putAside, release, removeAnswer } from './reserve.ts'
import type { Target } from './target-directory.ts'

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
 * Gives profiles their names in the directory, each complete and flushed.
 * @param answer the name of the answer, without its suffix
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
  const path = answerPath(directory, answer)
  const added: Added = { stored: [], known: [] }
  try {
    target.hasLinks ??= hasLinks(directory, answer)
    // Without hard links (FAT, exFAT), a file is written under its final name: a rename may leave both names on the disk
    // for the same clusters, and removing one would then destroy the contents of the other.
    if (target.hasLinks) await publishByRename(target, answer, profiles, added)
    else await publishInPlace(target, profiles, added)
    await flushDirectory(directory)
    if (kept !== undefined) await writeFlushed(kept, readFileSync(path), fileRights(target.rights))
    removeAnswer(directory, answer)
    // FAT would lose stored profiles if the space of the answer were reused while the disk still has its name.
    await flushDirectory(join(directory, INCOMING)).catch(ignoreIfGone)
    return added
  } catch (error) {
    const facts = { kind: 'put-aside', stored: added.stored.length, known: added.known.length } as const
    throw new Failure(facts, `can't store profiles in ${directory}: ${reasonOf(error)}`, error)
  }
}

/**
 * Tests for hard links with the answer itself. File systems without them report this with many different errors. If the
 * disk is really broken, writing in place fails as well and reports it.
 */
function hasLinks(directory: string, answer: string): boolean {
  const name = pathIn(incomingPath(directory, answer + ANSWER), '0')
  try {
    linkSync(answerPath(directory, answer), name)
  } catch {
    // If another call has taken the answer away, nothing can be published in place either.
    return !exists(answerPath(directory, answer))
  }
  patiently(() => unlinkSync(name))
  return true
}

/**
 * @param added collects the profiles as they get their names
 * @throws the system error; some profiles may have their names
 */
async function publishByRename(
  target: Target,
  answer: string,
  profiles: readonly StoredProfile[],
  added: Added,
): Promise<void> {
  const place = incomingPath(target.directory, answer + ANSWER)
  const temporary = new Map<string, StoredProfile>()
  const known: string[] = []
  try {
    for (const [index, profile] of profiles.entries()) temporary.set(pathIn(place, String(index)), profile)
    await writeAll(target, temporary)
    for (const [path, profile] of temporary) {
      const name = fileName(profile.iccid)
      const found = find(target, name)
      if (found !== undefined) known.push(found)
      // Otherwise, another call has taken the answer away, and stores the profile.
      const isNew = found === undefined && publish(path, pathIn(target.directory, name))
      if (isNew) temporary.delete(path)
      if (isNew && hasFiller(name)) target.hasFillers = true
      const list = isNew ? added.stored : added.known
      list.push(profile.iccid)
    }
    await flushFiles(known, flushKnown)
  } finally {
    for (const path of temporary.keys()) patiently(() => removeIfThere(path))
  }
}

/** @returns false if the file is not there any more */
function publish(from: string, to: string): boolean {
  try {
    patiently(() => renameSync(from, to))
    return true
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
    return false
  }
}

/** Writes files and flushes them, all at once where that is known to work. */
async function writeAll(
  { fileSystem, rights }: Target,
  files: ReadonlyMap<string, StoredProfile>,
): Promise<void> {
  const paths = [...files.keys()]
  const isForAll = (await fileSystem?.isFor(paths.length)) === true
  for (let at = 0; at < paths.length; at += FLUSHES_AT_ONCE) {
    const written: number[] = []
    try {
      for (const path of paths.slice(at, at + FLUSHES_AT_ONCE)) {
        const file = openSync(path, 'wx', fileRights(rights))
        written.push(file)
        writeFileSync(file, toFile(files.get(path) as StoredProfile))
      }
      if (!isForAll) await Promise.all(written.map(flushFile))
    } finally {
      for (const file of written) closeSync(file)
    }
  }
  if (isForAll && !(await fileSystem?.flush(paths.length))) await flushFiles(paths)
}

/** Another call has removed the empty place. */
function ignoreIfGone(error: unknown): void {
  if (errnoOf(error) !== 'ENOENT') throw error
}
