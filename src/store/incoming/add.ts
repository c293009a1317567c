/** How profiles that were received get into a directory, each once. */
import { closeSync, ftruncateSync, lstatSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errnoOf, Failure, reasonOf } from '../../failure.ts'
import type { Messages } from '../../words.ts'
import { isStored } from '../claim.ts'
import { exists, fileRights, removeIfThere, renameIfThere } from '../directory-entries.ts'
import { flushDirectory, flushFiles, flushUnlessGone, writeAllFlushed } from '../flush/flush.ts'
import { CLAIMS, fileName, hasFiller, keyOfName, pathIn, spellings, usedName } from '../names.ts'
import { ifThere, ignoreIfGone, patiently } from '../patience.ts'
import { type StoredProfile, toFile } from '../profile-file.ts'
import { INCOMING, incomingPath, putAside, putAsideUnread, removeAnswer, type Target } from './answers.ts'
import { checkSpaceForBatch, reserve } from './free-space.ts'

type Searched = Pick<Target, 'directory' | 'hasFillers'>

/** What became of received profiles. */
export interface Added {
  readonly stored: string[]
  /** Already in the directory, used or unused. They are left unchanged. */
  readonly known: string[]
  /** The paths of answers whose rest is lost. */
  readonly damaged: string[]
}

export const nothingAdded = (): Added => ({ stored: [], known: [], damaged: [] })

/** An answer that is put aside. */
interface Received {
  readonly name: string
  readonly profiles: readonly StoredProfile[]
  /** All of it, if it can't be read completely. */
  readonly damaged?: Uint8Array | undefined
}

/**
 * A crash loses no profile once all of them are put aside in one file and flushed.
 * @param name that of the answer, which `reserve` has returned
 * @param added collects the profiles as they get their names, also if it fails
 * @throws {Failure} `lost`, or `put-aside`: the next call of `fetch` or `next` publishes what was put aside
 */
export async function add(
  target: Target,
  name: string,
  profiles: readonly StoredProfile[],
  added: Added,
): Promise<void> {
  if (profiles.length === 0) return removeAnswer(target, name)
  try {
    await putAside(target, name, profiles)
  } catch (error) {
    const iccids = profiles.map(({ iccid }) => iccid)
    throw new Failure('lost', `received and can't be stored: ${iccids.join(' ')}: ${reasonOf(error)}`, error)
  }
  await publishAnswer(target, { name, profiles }, added)
}

/**
 * Gives profiles their names in the directory, each complete and flushed, and removes the answer.
 * @param added as for `add`
 * @throws {Failure} `put-aside`
 */
export async function publishAnswer(target: Target, answer: Received, added: Added): Promise<void> {
  const { directory } = target
  try {
    await publish(target, answer, added)
    await flushDirectory(directory)
    if (answer.damaged) added.damaged.push(await putAsideUnread(target, answer.damaged))
    removeAnswer(target, answer.name)
    // FAT would lose stored profiles if the space of the answer were reused while the disk still has its name. Another call
    // may have removed the empty place.
    await flushDirectory(join(directory, INCOMING)).catch(ignoreIfGone)
  } catch (error) {
    throw new Failure('put-aside', `can't store profiles in ${directory}: ${reasonOf(error)}`, error)
  }
}

/**
 * Writes all profiles beside the answer, flushes them, and renames each into the directory. Without hard links (FAT, exFAT),
 * each is written under its final name: a rename may leave both names on the disk for the same clusters, and removing one
 * would then destroy the contents of the other. There, a crash can leave a torn file, but the answer that repairs it is
 * still put aside.
 * @throws the system error; some profiles may have their names
 */
async function publish(target: Target, { name: answer, profiles }: Received, added: Added): Promise<void> {
  const { directory, rights, hasLinks } = target
  const place = incomingPath(directory, answer)
  const texts = new Map(profiles.map((profile, index) => [pathIn(place, String(index)), toFile(profile)]))
  const toFlush: string[] = []
  try {
    if (hasLinks) await writeAllFlushed(texts, fileRights(rights), target.fileSystem)
    for (const [index, [temporary, text]] of [...texts].entries()) {
      const { iccid } = profiles[index] as StoredProfile
      const name = fileName(iccid)
      const path = pathIn(directory, name)
      const found = find(target, name)
      // If the file is gone, another call has taken the answer away, and stores the profile.
      const isNew =
        found === undefined && (hasLinks ? renameIfThere(temporary, path) : isWritten(target, name, text))
      if (isNew && hasLinks) texts.delete(temporary)
      else toFlush.push(found ?? path)
      if (isNew && hasFiller(name)) target.hasFillers = true
      added[isNew ? 'stored' : 'known'].push(iccid)
    }
    await flushFiles(toFlush, flushFound)
  } finally {
    if (hasLinks) for (const temporary of texts.keys()) patiently(() => removeIfThere(temporary))
  }
}

/** @returns false if another process has stored the profile since it was looked for */
function isWritten(target: Target, name: string, text: string): boolean {
  const file = openToWrite(target, name)
  if (file === undefined) return false
  try {
    // Another process may have stored the profile since this one looked, and a third one may have claimed it.
    if (findUsed(target, name) !== undefined) {
      patiently(() => removeIfThere(pathIn(target.directory, name)))
      return false
    }
    // In this order: another process may have completed the file meanwhile, with the same text.
    writeFileSync(file, text)
    ftruncateSync(file, Buffer.byteLength(text))
    return true
  } finally {
    closeSync(file)
  }
}

/** @returns undefined if another process has stored the profile in the meantime, and a third one may have claimed it */
function openToWrite({ directory, rights }: Target, name: string): number | undefined {
  const path = pathIn(directory, name)
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
export function find(target: Searched, name: string): string | undefined {
  const unused = namesOf(target, name).find((each) => isStored(target.directory, each))
  return unused === undefined ? findUsed(target, name) : pathIn(target.directory, unused)
}

function findUsed(target: Searched, name: string): string | undefined {
  const { directory } = target
  const claim = pathIn(pathIn(directory, CLAIMS), keyOfName(name))
  if (exists(claim)) return claim
  return namesOf(target, name)
    .map((each) => pathIn(directory, usedName(each)))
    .find(isFilled)
}

const namesOf = ({ hasFillers }: Searched, name: string) =>
  hasFillers === false && !hasFiller(name) ? [name] : spellings(name)

/** An empty used file is a claim that an earlier version did not finish. */
function isFilled(path: string): boolean {
  const status = lstatSync(path, { throwIfNoEntry: false })
  return status !== undefined && !(status.isFile() && status.size === 0)
}

/** Also what was there: the process that published it may have been killed before the flush, and its answer removed. */
async function flushFound(path: string): Promise<void> {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile()) await flushUnlessGone(path)
}

/**
 * Takes in what the service sends: makes room for it, stores it, and counts. It knows nothing of the network, so that the
 * schedules (scripts/torture/schedule) can run it alone.
 */
export class Intake {
  /** How many profiles of the answers are where. */
  readonly tally = {
    /** New, and stored under their names in the directory. */
    stored: 0,
    known: 0,
    /** Put aside; the next call stores them. */
    putAside: 0,
    /** Not on any disk. */
    lost: 0,
    /** Entries of answers that are not profiles. */
    refused: 0,
  }
  readonly #target: Target
  readonly #messages: Messages

  constructor(target: Target, messages: Messages) {
    this.#target = target
    this.#messages = messages
  }

  /**
   * Makes sure that so many profiles can be stored.
   * @returns the name of the reserve
   * @throws {Failure} `disk`
   */
  async reserve(size: number): Promise<string> {
    checkSpaceForBatch(this.#target, size)
    return reserve(this.#target, size)
  }

  /** Gives up a reserve for which no answer has arrived. */
  release(reserve: string): void {
    removeAnswer(this.#target, reserve)
  }

  /**
   * Puts the profiles of an answer aside durably, then publishes them.
   * @returns how many of them are new
   * @throws {Failure} `lost` or `put-aside`
   */
  async keep(profiles: readonly StoredProfile[], reserve: string): Promise<number> {
    const added = nothingAdded()
    try {
      await add(this.#target, reserve, profiles, added)
    } catch (error) {
      const isLost = error instanceof Failure && error.facts.kind === 'lost'
      this.tally[isLost ? 'lost' : 'putAside'] += profiles.length - added.stored.length - added.known.length
      // Each failure is reported here. If several happen at once, the final message names only one.
      this.#messages.warn(reasonOf(error))
      throw error
    } finally {
      this.tally.stored += added.stored.length
      this.tally.known += added.known.length
    }
    for (const iccid of added.stored) this.#messages.tell(2, `${iccid} is stored`)
    for (const iccid of added.known)
      this.#messages.tell(2, `${iccid} is already in ${this.#target.directory}`)
    return added.stored.length
  }

  /**
   * Keeps an answer that could not be read, or not all of it, as well as the disk can, for a person to look at.
   * @param refused how many of its entries can't be used, if it could be read at all
   */
  async keepUnread(answer: Uint8Array, refused: number): Promise<void> {
    this.tally.refused += refused
    try {
      this.#messages.warn(`the answer is put aside in ${await putAsideUnread(this.#target, answer)}`)
    } catch (error) {
      this.#messages.warn(`the answer can't be put aside: ${reasonOf(error)}`)
    }
  }
}

export type Tally = Readonly<Intake['tally']>
