import {
  closeSync,
  fstatSync,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { errnoOf } from '../errors.ts'
import { FLUSHES_AT_ONCE, flushFile, flushUnlessGone } from './flush.ts'
import { asidePath, type StoredProfile, toFile } from './incoming.ts'
import { fileName, spellings, usedName } from './names.ts'
import type { Target } from './target.ts'

/**
 * What these codes have in common: the file system has no hard links. EISDIR is exFAT on Windows (nodejs/node #65817),
 * EIO a mount of rclone; where it is a broken disk, the other way fails as well, and that is told.
 */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EINVAL', 'EMLINK', 'EISDIR', 'EIO']

/** What became of the profiles of an answer, by their ICCIDs. */
export interface Added {
  readonly stored: string[]
  /** Those that the directory had already, used or not; they are left alone. */
  readonly known: string[]
}

/**
 * Gives profiles their names in the directory, each whole and flushed. The names are durable when the directory has
 * been flushed.
 * @param prefix of the temporary files, beside the answer they come from
 * @param added is filled in as they get their names
 * @throws the system error; some of the profiles may have their names
 */
export async function publish(
  target: Target,
  prefix: string,
  profiles: readonly StoredProfile[],
  added: Added = { stored: [], known: [] },
): Promise<Added> {
  for (let at = 0; at < profiles.length; at += FLUSHES_AT_ONCE) {
    await publishChunk(target, prefix, profiles.slice(at, at + FLUSHES_AT_ONCE), added)
  }
  return added
}

/** Only flushing takes time; all else is done at once, which costs less than handing it to another thread. */
async function publishChunk(
  target: Target,
  prefix: string,
  profiles: readonly StoredProfile[],
  added: Added,
) {
  const written: { file: number; path: string; iccid: string }[] = []
  const known: string[] = []
  try {
    for (const [at, profile] of profiles.entries()) {
      const found = find(target.directory, fileName(profile.iccid))
      if (found !== undefined) {
        known.push(found)
        added.known.push(profile.iccid)
        continue
      }
      const path = asidePath(target.directory, `${prefix}.${at}`)
      const file = openSync(path, 'wx', target.mode & 0o660)
      written.push({ file, path, iccid: profile.iccid })
      writeFileSync(file, toFile(profile))
    }
    await Promise.all([...written.map(({ file }) => flushFile(file)), ...known.map(flushKnown)])
    const renamed: number[] = []
    for (const { file, path, iccid } of written) {
      const given = giveName(target.directory, path, fileName(iccid), file)
      ;(given === 'known' ? added.known : added.stored).push(iccid)
      if (given === 'renamed') renamed.push(file)
    }
    // Until then FAT has the new name with nothing in it.
    await Promise.all(renamed.map((file) => flushFile(file)))
  } finally {
    for (const { file, path } of written) {
      closeSync(file)
      rmSync(path, { force: true })
    }
  }
}

/**
 * The file in which the directory has a profile already, unused or used. Looked for in this order: a profile on its way
 * from unused to used is seen in one of the two places.
 */
function find(directory: string, name: string): string | undefined {
  const unused = spellings(name).map((each) => join(directory, each))
  const used = spellings(name).map((each) => join(directory, usedName(each)))
  return unused.find(isThere) ?? used.find(isThere)
}

/** Whoever gave it its name may have been killed before it flushed it, and now its answer is about to be removed. */
async function flushKnown(path: string): Promise<void> {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile()) await flushUnlessGone(path)
}

/** An empty file is a name that a crash has left without its contents. */
function isThere(path: string): boolean {
  const status = lstatSync(path, { throwIfNoEntry: false })
  return status !== undefined && !(status.isFile() && status.size === 0)
}

/** @returns how the profile got its name, `known` where the directory has it already */
function giveName(
  directory: string,
  path: string,
  name: string,
  file: number,
): 'linked' | 'renamed' | 'known' {
  let given: 'linked' | 'renamed'
  try {
    given = linkOrRename(path, join(directory, name))
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return 'known'
    throw error
  }
  // Since we looked, somebody else may have published the same profile, and somebody claimed it. Or it is this one
  // that was claimed at once; the used name is empty while it is being claimed.
  const used = lstatSync(join(directory, usedName(name)), { throwIfNoEntry: false })
  if (used === undefined || used.size === 0) return given
  const { ino } = fstatSync(file)
  if (used.ino === ino) return given
  // Whoever claimed it may have given it back: theirs is not ours to remove.
  if (lstatSync(join(directory, name), { throwIfNoEntry: false })?.ino === ino) rmSync(join(directory, name))
  return 'known'
}

/** Gives a file a name that must be new. Unlike rename, link fails where the name exists, on every system. */
function linkOrRename(from: string, to: string): 'linked' | 'renamed' {
  try {
    linkSync(from, to)
    return 'linked'
  } catch (error) {
    const code = errnoOf(error) ?? ''
    if (code === 'EEXIST' ? isThere(to) : !NO_LINKS.includes(code)) throw error
    // FAT and the like: an empty file takes the name, then the contents take its place. Where a crash came between
    // the two, the empty file is still there.
    if (lstatSync(to, { throwIfNoEntry: false })?.size !== 0) closeSync(openSync(to, 'wx', 0o600))
    renameSync(from, to)
    return 'renamed'
  }
}
