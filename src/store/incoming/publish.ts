import { linkSync, lstatSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { UnusableProfile } from '../../failure.ts'
import { removeSurplus } from '../claim/surplus.ts'
import { flushFiles, flushUnlessGone } from '../flush/files.ts'
import { fileName, hasFiller, spellings, usedName } from '../names.ts'
import { patiently } from '../patience.ts'
import { readProfile } from '../read.ts'
import { removeIfThere } from '../remove.ts'
import { fileRights } from '../rights.ts'
import { ANSWER, incomingPath, parseProfile, type StoredProfile, toFile } from './answers.ts'
import { publishInPlace } from './in-place.ts'
import type { Target } from './target.ts'

export interface Added {
  readonly stored: string[]
  /** Already in the directory, used or unused. They are left unchanged. */
  readonly known: string[]
}

/**
 * Gives profiles their names in the directory, each complete and flushed. The names are durable once the directory is
 * flushed. Without hard links (FAT, exFAT), a file is written under its final name: a rename may leave both names on
 * the disk for the same clusters, and removing one would then destroy the contents of the other.
 * @param answer the name of the answer, without its suffix
 * @param added collects the profiles as they get their names
 * @throws the system error; some profiles may have their names
 */
export async function publish(
  target: Target,
  answer: string,
  profiles: readonly StoredProfile[],
  added: Added = { stored: [], known: [] },
): Promise<Added> {
  target.hasLinks ??= hasLinks(target.directory, answer)
  const put = target.hasLinks ? publishByRename : publishInPlace
  await put(target, answer, profiles, added)
  return added
}

/**
 * Tests for hard links with the answer itself. File systems without them report this with many different errors. If the
 * disk is really broken, writing in place fails as well and reports it.
 */
function hasLinks(directory: string, answer: string): boolean {
  const name = incomingPath(directory, `${answer}.0`)
  try {
    linkSync(incomingPath(directory, answer + ANSWER), name)
  } catch {
    return false
  }
  patiently(() => unlinkSync(name))
  return true
}

async function publishByRename(
  target: Target,
  answer: string,
  profiles: readonly StoredProfile[],
  added: Added,
): Promise<void> {
  const { directory, rights } = target
  const mode = fileRights(rights)
  const prefix = incomingPath(directory, answer)
  const temporary = new Map<string, StoredProfile>()
  const known: string[] = []
  try {
    for (const [index, profile] of profiles.entries()) {
      const path = `${prefix}.${index}`
      temporary.set(path, profile)
      writeFileSync(path, toFile(profile), { flag: 'wx', mode })
    }
    await flushWritten(target, [...temporary.keys()])
    for (const [path, profile] of temporary) {
      const name = fileName(profile.iccid)
      const found = find(target, name)
      if (found !== undefined) known.push(found)
      else {
        patiently(() => renameSync(path, join(directory, name)))
        temporary.delete(path)
        if (hasFiller(name)) target.hasFillers = true
      }
      // Since the search, another process may have stored the same profile, and a third one claimed it.
      const isNew = found === undefined && !removeSurplus(directory, name)
      const list = isNew ? added.stored : added.known
      list.push(profile.iccid)
    }
    await flushFiles(known, flushKnown)
  } finally {
    for (const path of temporary.keys()) patiently(() => removeIfThere(path))
  }
}

async function flushWritten({ whole }: Target, paths: readonly string[]): Promise<void> {
  if ((await whole?.flush(paths.length)) !== true) await flushFiles(paths)
}

/** Unused names come first, so that a profile that is claimed during the search is found in one of the two places. */
export function find({ directory, hasFillers }: Target, name: string): string | undefined {
  const names = hasFillers === false && !hasFiller(name) ? [name] : spellings(name)
  const unused = names.find((each) => isWhole(directory, each))
  const found = unused ?? names.map(usedName).find((each) => isFilled(join(directory, each)))
  return found === undefined ? undefined : join(directory, found)
}

/** The process that published it may have been killed before the flush, and its answer is about to be removed. */
export async function flushKnown(path: string): Promise<void> {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile()) await flushUnlessGone(path)
}

/** An empty used file is an unfinished claim. */
function isFilled(path: string): boolean {
  const status = lstatSync(path, { throwIfNoEntry: false })
  return status !== undefined && !(status.isFile() && status.size === 0)
}

/** A file that can't be read counts as whole, so that it is left unchanged. */
export function isWhole(directory: string, name: string): boolean {
  if (lstatSync(join(directory, name), { throwIfNoEntry: false }) === undefined) return false
  try {
    const text = readProfile(directory, name)
    return text !== undefined && spellings(name).includes(fileName(parseProfile(text)?.iccid ?? ''))
  } catch (error) {
    if (error instanceof UnusableProfile) return true
    throw error
  }
}
