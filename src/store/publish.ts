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
import { isUsed } from './claim.ts'
import { flushFile } from './flush.ts'
import { asidePath, type StoredProfile, toFile } from './incoming.ts'
import { fileName, spellings, usedName } from './names.ts'
import type { Target } from './target.ts'

/** Flushes that run together share the disk's work; more than this hold up the event loop for long. */
const AT_ONCE = 64

/** What these codes have in common: the file system has no hard links. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EINVAL', 'EMLINK']

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
  for (let at = 0; at < profiles.length; at += AT_ONCE) {
    await publishChunk(target, prefix, profiles.slice(at, at + AT_ONCE), added)
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
  try {
    for (const [at, profile] of profiles.entries()) {
      if (isKnown(target.directory, fileName(profile.iccid))) {
        added.known.push(profile.iccid)
        continue
      }
      const path = asidePath(target.directory, `${prefix}.${at}`)
      const file = openSync(path, 'wx', target.mode & 0o660)
      written.push({ file, path, iccid: profile.iccid })
      writeFileSync(file, toFile(profile))
    }
    await Promise.all(written.map(({ file }) => flushFile(file)))
    for (const { file, path, iccid } of written) {
      const isNew = giveName(target.directory, path, fileName(iccid), file)
      ;(isNew ? added.stored : added.known).push(iccid)
    }
  } finally {
    for (const { file, path } of written) {
      closeSync(file)
      rmSync(path, { force: true })
    }
  }
}

/** In this order: a profile on its way from unused to used is seen in one of the two places. */
function isKnown(directory: string, name: string): boolean {
  return spellings(name).some((each) => isThere(join(directory, each))) || isUsed(directory, name)
}

/** An empty file is a name that a crash has left without its contents. */
function isThere(path: string): boolean {
  const status = lstatSync(path, { throwIfNoEntry: false })
  return status !== undefined && !(status.isFile() && status.size === 0)
}

/** @returns false where the profile is known already */
function giveName(directory: string, path: string, name: string, file: number): boolean {
  try {
    linkOrRename(path, join(directory, name))
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false
    throw error
  }
  // Since we looked, somebody else may have published the same profile, and somebody claimed it. Or it is this one
  // that was claimed, at once.
  const used = lstatSync(join(directory, usedName(name)), { throwIfNoEntry: false })
  if (used === undefined) return true
  const { ino } = fstatSync(file)
  if (used.ino === ino) return true
  // Whoever claimed it may have given it back: theirs is not ours to remove.
  if (lstatSync(join(directory, name), { throwIfNoEntry: false })?.ino === ino) rmSync(join(directory, name))
  return false
}

/** Gives a file a name that must be new. Unlike rename, link fails where the name exists, on every system. */
function linkOrRename(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch (error) {
    const code = errnoOf(error) ?? ''
    if (code === 'EEXIST' ? isThere(to) : !NO_LINKS.includes(code)) throw error
    // FAT and the like: an empty file takes the name, then the contents take its place. Where a crash came between
    // the two, the empty file is still there.
    if (lstatSync(to, { throwIfNoEntry: false })?.size !== 0) closeSync(openSync(to, 'wx'))
    renameSync(from, to)
  }
}
