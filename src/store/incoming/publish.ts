import {
  closeSync,
  fstatSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { errnoOf, UnusableProfile } from '../../failure.ts'
import { FLUSHES_AT_ONCE, flushFile, flushUnlessGone } from '../flush.ts'
import { tryLink } from '../links.ts'
import { fileName, spellings, usedName } from '../names.ts'
import { readProfile } from '../read.ts'
import { fileRights } from '../rights.ts'
import { ANSWER, incomingPath, parseProfile, type StoredProfile, toFile } from './answers.ts'
import type { Target } from './target.ts'

/** What became of the profiles of an answer, by their ICCIDs. */
export interface Added {
  readonly stored: string[]
  /** Those that the directory had already, used or not; they are left alone. */
  readonly known: string[]
}

/** An open file with the contents of a profile. */
interface Written {
  readonly file: number
  readonly iccid: string
  /** Where it is as long as it has not got its name. */
  readonly temporary?: string
}

/**
 * Gives profiles their names in the directory, each whole and flushed. The names are durable when the directory has
 * been flushed.
 *
 * With hard links, each is written and flushed under a temporary name, and then linked to its own. Without (FAT, exFAT)
 * it is written under its own name: a rename may leave both names on the disk for the same clusters, and whoever then
 * removes one takes the contents of the other. A crash can leave a torn file there, beside the answer that mends it.
 * @param aside the name of the answer they are in, without its ending
 * @param added is filled in as they get their names
 * @throws the system error; some of the profiles may have their names
 */
export async function publish(
  target: Target,
  aside: string,
  profiles: readonly StoredProfile[],
  added: Added = { stored: [], known: [] },
): Promise<Added> {
  const { directory } = target
  const write = hasLinks(directory, aside) ? writeTemporary : writeInPlace
  for (let at = 0; at < profiles.length; at += FLUSHES_AT_ONCE) {
    const known: string[] = []
    const written: Written[] = []
    try {
      for (const [index, profile] of profiles.slice(at, at + FLUSHES_AT_ONCE).entries()) {
        const found = find(directory, fileName(profile.iccid))
        if (found !== undefined) known.push(found)
        const one = found === undefined ? write(target, profile, `${aside}.${index}`) : undefined
        if (one !== undefined) written.push(one)
        else added.known.push(profile.iccid)
      }
      // Only flushing takes time; handing all else to another thread costs more than doing it.
      await Promise.all([...written.map(({ file }) => flushFile(file)), ...known.map(flushKnown)])
      for (const one of written) {
        const list = takesName(directory, one) ? added.stored : added.known
        list.push(one.iccid)
      }
    } finally {
      for (const { file, temporary } of written) {
        closeSync(file)
        if (temporary !== undefined) rmSync(temporary, { force: true })
      }
    }
  }
  return added
}

/** Whether the file system has hard links: tried on the answer itself. */
function hasLinks(directory: string, aside: string): boolean {
  const name = incomingPath(directory, `${aside}.0`)
  if (tryLink(incomingPath(directory, aside + ANSWER), name) === 'unable') return false
  rmSync(name)
  return true
}

function writeTemporary({ directory, rights }: Target, profile: StoredProfile, name: string): Written {
  const temporary = incomingPath(directory, name)
  const file = openSync(temporary, 'wx', fileRights(rights))
  return filled({ file, iccid: profile.iccid, temporary }, profile)
}

/** @returns undefined where somebody else has stored the profile meanwhile */
function writeInPlace({ directory, rights }: Target, profile: StoredProfile): Written | undefined {
  const name = fileName(profile.iccid)
  const path = join(directory, name)
  let file: number
  try {
    file = openSync(path, 'wx', fileRights(rights))
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
    if (isWhole(directory, name)) return undefined
    file = openSync(path, 'r+')
    ftruncateSync(file)
  }
  return filled({ file, iccid: profile.iccid }, profile)
}

function filled(one: Written, profile: StoredProfile): Written {
  try {
    writeFileSync(one.file, toFile(profile))
    return one
  } catch (error) {
    closeSync(one.file)
    throw error
  }
}

/**
 * The file in which the directory has a profile already, unused or used. Looked for in this order: a profile on its way
 * from unused to used is seen in one of the two places.
 */
function find(directory: string, name: string): string | undefined {
  const unused = spellings(name).find((each) => isWhole(directory, each))
  const used = spellings(name).map(usedName)
  const found = unused ?? used.find((each) => isFilled(join(directory, each)))
  return found === undefined ? undefined : join(directory, found)
}

/** Whoever gave it its name may have been killed before it flushed it, and now its answer is about to be removed. */
async function flushKnown(path: string): Promise<void> {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile()) await flushUnlessGone(path)
}

/** An empty used file is a claim that is not finished. */
function isFilled(path: string): boolean {
  const status = lstatSync(path, { throwIfNoEntry: false })
  return status !== undefined && !(status.isFile() && status.size === 0)
}

/** Whether an unused file is there, and is not what a crash has left of it. What can't be read is left alone. */
function isWhole(directory: string, name: string): boolean {
  if (lstatSync(join(directory, name), { throwIfNoEntry: false }) === undefined) return false
  try {
    const text = readProfile(directory, name)
    return text !== undefined && spellings(name).includes(fileName(parseProfile(text)?.iccid ?? ''))
  } catch (error) {
    if (error instanceof UnusableProfile) return true
    throw error
  }
}

/** @returns false where the directory has the profile already */
function takesName(directory: string, { file, iccid, temporary }: Written): boolean {
  const name = fileName(iccid)
  const path = join(directory, name)
  if (temporary !== undefined && !links(temporary, directory, name)) return false
  // Since we looked, somebody else may have stored the same profile, and somebody claimed it. Or it is this one that
  // was claimed at once; the used name is empty while it is being claimed.
  const used = lstatSync(join(directory, usedName(name)), { throwIfNoEntry: false })
  if (used === undefined || used.size === 0) return true
  const { ino } = fstatSync(file)
  if (used.ino === ino) return true
  // Whoever claimed it may have given it back: theirs is not ours to remove.
  if (lstatSync(path, { throwIfNoEntry: false })?.ino === ino) rmSync(path)
  return false
}

/** Unlike rename, link fails where the name exists, on every system. @returns false where it does */
function links(temporary: string, directory: string, name: string): boolean {
  const path = join(directory, name)
  try {
    linkSync(temporary, path)
    return true
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
    if (isWhole(directory, name)) return false
    renameSync(temporary, path)
    return true
  }
}
