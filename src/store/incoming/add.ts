/** How profiles that were received get into a directory, each once. */
import {
  closeSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { errnoOf, Failure, reasonOf } from '../../failure.ts'
import { CLAIMS, keyOfName } from '../claim-place.ts'
import { exists, fileRights, removeIfThere, renameIfThere } from '../directory-entries.ts'
import {
  FLUSHES_AT_ONCE,
  flushDirectory,
  flushFile,
  flushFiles,
  flushUnlessGone,
  writeAllFlushed,
  writeFlushed,
} from '../flush/flush.ts'
import { fileName, hasFiller, pathIn, spellings, usedName } from '../names.ts'
import { ifThere, ignoreIfGone, patiently } from '../patience.ts'
import { isStored } from '../profile-state.ts'
import {
  ANSWER,
  answerPath,
  INCOMING,
  incomingPath,
  newAnswerName,
  type StoredProfile,
  toFile,
} from './answers.ts'
import { putAside, release, removeAnswer, type Target } from './target-directory.ts'

export interface Added {
  readonly stored: string[]
  /** Already in the directory, used or unused. They are left unchanged. */
  readonly known: string[]
}

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
    else
      for (let at = 0; at < profiles.length; at += FLUSHES_AT_ONCE)
        await publishInPlace(target, profiles.slice(at, at + FLUSHES_AT_ONCE), added)
    await flushDirectory(directory)
    if (kept !== undefined) {
      await writeFlushed(kept, readFileSync(path), fileRights(target.rights))
      // Without a journal, a power cut could leave neither of them.
      await flushDirectory(join(directory, INCOMING))
    }
    removeAnswer(directory, answer)
    // FAT would lose stored profiles if the space of the answer were reused while the disk still has its name. Another call
    // may have removed the empty place.
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
  const name = join(incomingPath(directory, answer + ANSWER), '0')
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
  const temporary = new Map(profiles.map((profile, index) => [pathIn(place, String(index)), profile]))
  const known: string[] = []
  try {
    const texts = new Map([...temporary].map(([path, profile]) => [path, toFile(profile)]))
    await writeAllFlushed(texts, fileRights(target.rights), target.fileSystem)
    for (const [path, { iccid }] of temporary) {
      const name = fileName(iccid)
      const found = find(target, name)
      if (found !== undefined) known.push(found)
      // If the file is gone, another call has taken the answer away, and stores the profile.
      const isNew = found === undefined && renameIfThere(path, pathIn(target.directory, name))
      if (isNew) temporary.delete(path)
      if (isNew && hasFiller(name)) target.hasFillers = true
      added[isNew ? 'stored' : 'known'].push(iccid)
    }
    await flushFiles(known, flushKnown)
  } finally {
    for (const path of temporary.keys()) patiently(() => removeIfThere(path))
  }
}

/**
 * Publishes where the file system has no hard links. A crash can leave a torn file, but the answer that repairs it is
 * still put aside.
 * @param profiles few enough to be open at a time
 * @throws the system error
 */
async function publishInPlace(
  target: Target,
  profiles: readonly StoredProfile[],
  added: Added,
): Promise<void> {
  const { directory, rights } = target
  const known: string[] = []
  const written = new Map<number, StoredProfile>()
  try {
    for (const profile of profiles) {
      const name = fileName(profile.iccid)
      const found = find(target, name)
      if (found !== undefined) known.push(found)
      const file = found === undefined ? create(directory, name, rights) : undefined
      if (file === undefined) added.known.push(profile.iccid)
      else {
        written.set(file, profile)
        if (hasFiller(name)) target.hasFillers = true
        // In this order: another process may have completed the file meanwhile, with the same text.
        ftruncateSync(file, writeSync(file, toFile(profile), 0))
      }
    }
    await Promise.all([...[...written.keys()].map(flushFile), ...known.map(flushKnown)])
    for (const { iccid } of written.values()) {
      const name = fileName(iccid)
      // Since the search, another process may have stored it, and a third one claimed it.
      const isUsed = findUsed(target, name) !== undefined
      if (isUsed) patiently(() => removeIfThere(join(directory, name)))
      added[isUsed ? 'known' : 'stored'].push(iccid)
    }
  } finally {
    for (const file of written.keys()) closeSync(file)
  }
}

/** @returns undefined if another process has stored the profile in the meantime, and a third one may have claimed it */
function create(directory: string, name: string, rights: number): number | undefined {
  const path = join(directory, name)
  try {
    return patiently(() => openSync(path, 'wx', fileRights(rights)))
  } catch (error) {
    // Over SFTP (sshfs), EEXIST becomes EPERM.
    const isThere = errnoOf(error) === 'EEXIST' || (errnoOf(error) === 'EPERM' && exists(path))
    if (!isThere) throw error
    return isStored(directory, name) ? undefined : ifThere(() => patiently(() => openSync(path, 'r+')))
  }
}

/**
 * Where a directory has a profile, used or unused. It is looked for in the order in which a claim goes, so that one that is
 * claimed during the search is found in one place.
 */
export function find(target: Target, name: string): string | undefined {
  const unused = namesOf(target, name).find((each) => isStored(target.directory, each))
  return unused === undefined ? findUsed(target, name) : pathIn(target.directory, unused)
}

function findUsed(target: Target, name: string): string | undefined {
  const { directory } = target
  const claim = pathIn(pathIn(directory, CLAIMS), keyOfName(name))
  if (exists(claim)) return claim
  return namesOf(target, name)
    .map((each) => pathIn(directory, usedName(each)))
    .find(isFilled)
}

const namesOf = ({ hasFillers }: Target, name: string) =>
  hasFillers === false && !hasFiller(name) ? [name] : spellings(name)

/** An empty used file is a claim that an earlier version did not finish. */
function isFilled(path: string): boolean {
  const status = lstatSync(path, { throwIfNoEntry: false })
  return status !== undefined && !(status.isFile() && status.size === 0)
}

/** The process that published it may have been killed before the flush, and its answer is about to be removed. */
async function flushKnown(path: string): Promise<void> {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile()) await flushUnlessGone(path)
}
