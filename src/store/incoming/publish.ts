import {
  closeSync,
  fstatSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { UnusableProfile } from '../../failure.ts'
import { FLUSHES_AT_ONCE, flushFile, flushUnlessGone } from '../flush.ts'
import { isExisting, tryLink } from '../links.ts'
import { fileName, spellings, usedName } from '../names.ts'
import { readProfile } from '../read.ts'
import { removeIfThere } from '../remove.ts'
import { fileRights } from '../rights.ts'
import { ANSWER, incomingPath, parseProfile, type StoredProfile, toFile } from './answers.ts'
import type { Target } from './target.ts'

export interface Added {
  readonly stored: string[]
  /** Already in the directory, used or unused. They are left unchanged. */
  readonly known: string[]
}

interface Written {
  readonly file: number
  readonly profile: StoredProfile
  /** The path until the file gets its final name. */
  readonly temporary?: string
}

/**
 * Gives profiles their names in the directory, each complete and flushed. The names are durable once the directory is
 * flushed. Without hard links (FAT, exFAT), a file is written under its final name: a rename may leave both names on
 * the disk for the same clusters, and removing one would then destroy the contents of the other. A crash can leave a
 * torn file there, but the answer that repairs it is still put aside.
 * @param aside the name of the answer, without its suffix
 * @param added collects the profiles as they get their names
 * @throws the system error; some profiles may have their names
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
      // Only flushing takes time. Moving the rest to another thread would cost more than it saves.
      await Promise.all([...written.map(({ file }) => flushFile(file)), ...known.map(flushKnown)])
      for (const one of written) {
        const list = takesName(directory, one) ? added.stored : added.known
        list.push(one.profile.iccid)
      }
    } finally {
      for (const { file, temporary } of written) {
        closeSync(file)
        if (temporary !== undefined) removeIfThere(temporary)
      }
    }
  }
  return added
}

/** Tests for hard links with the answer itself. */
function hasLinks(directory: string, aside: string): boolean {
  const name = incomingPath(directory, `${aside}.0`)
  if (tryLink(incomingPath(directory, aside + ANSWER), name) === 'unable') return false
  unlinkSync(name)
  return true
}

function writeTemporary({ directory, rights }: Target, profile: StoredProfile, name: string): Written {
  const temporary = incomingPath(directory, name)
  const file = openSync(temporary, 'wx', fileRights(rights))
  return filled({ file, profile, temporary })
}

/** @returns undefined if another process has stored the profile in the meantime */
function writeInPlace({ directory, rights }: Target, profile: StoredProfile): Written | undefined {
  const name = fileName(profile.iccid)
  const path = join(directory, name)
  let file: number
  try {
    file = openSync(path, 'wx', fileRights(rights))
  } catch (error) {
    if (!isExisting(error, path)) throw error
    if (isWhole(directory, name)) return undefined
    file = openSync(path, 'r+')
    ftruncateSync(file)
  }
  return filled({ file, profile })
}

function filled(one: Written): Written {
  try {
    writeFileSync(one.file, toFile(one.profile))
    return one
  } catch (error) {
    closeSync(one.file)
    throw error
  }
}

/** Unused names come first, so that a profile that is claimed during the search is found in one of the two places. */
function find(directory: string, name: string): string | undefined {
  const unused = spellings(name).find((each) => isWhole(directory, each))
  const used = spellings(name).map(usedName)
  const found = unused ?? used.find((each) => isFilled(join(directory, each)))
  return found === undefined ? undefined : join(directory, found)
}

/** The process that published it may have been killed before the flush, and its answer is about to be removed. */
async function flushKnown(path: string): Promise<void> {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile()) await flushUnlessGone(path)
}

/** An empty used file is an unfinished claim. */
function isFilled(path: string): boolean {
  const status = lstatSync(path, { throwIfNoEntry: false })
  return status !== undefined && !(status.isFile() && status.size === 0)
}

/** A file that can't be read counts as whole, so that it is left unchanged. */
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

/** @returns false if the directory already has the profile */
function takesName(directory: string, { file, profile, temporary }: Written): boolean {
  const name = fileName(profile.iccid)
  const path = join(directory, name)
  if (temporary !== undefined && !links(temporary, directory, name)) return false
  // Since the search, another process may have stored the same profile, and a third one claimed it. Or this profile
  // itself was claimed at once. The used name is empty during a claim.
  const used = lstatSync(join(directory, usedName(name)), { throwIfNoEntry: false })
  if (used === undefined || used.size === 0) return true
  if (holds(directory, usedName(name), profile)) return true
  // The claim may have been reversed. Remove only the file of this process.
  const { ino } = fstatSync(file)
  if (lstatSync(path, { throwIfNoEntry: false })?.ino === ino) unlinkSync(path)
  return false
}

/** Not by the inode: the used file of a device is another one, with the same profile in it. */
function holds(directory: string, name: string, { profile }: StoredProfile): boolean {
  try {
    return parseProfile(readProfile(directory, name) ?? '')?.profile === profile
  } catch (error) {
    if (error instanceof UnusableProfile) return false
    throw error
  }
}

/** Unlike rename, link fails on every system if the name exists. @returns false in that case */
function links(temporary: string, directory: string, name: string): boolean {
  const path = join(directory, name)
  try {
    linkSync(temporary, path)
    return true
  } catch (error) {
    if (!isExisting(error, path)) throw error
    if (isWhole(directory, name)) return false
    renameSync(temporary, path)
    return true
  }
}
