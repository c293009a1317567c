import { closeSync, ftruncateSync, lstatSync, openSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { UnusableProfile } from '../../failure.ts'
import { FLUSHES_AT_ONCE, flushFile } from '../flush/files.ts'
import { isExisting } from '../links.ts'
import { fileName, usedName } from '../names.ts'
import { readProfile } from '../read.ts'
import { fileRights } from '../rights.ts'
import { parseProfile, type StoredProfile, toFile } from './answers.ts'
import { type Added, find, flushKnown, isWhole } from './publish.ts'
import type { Target } from './target.ts'

/**
 * For file systems without hard links. A crash can leave a torn file, but the answer that repairs it is still put aside.
 * @throws the system error
 */
export async function publishInPlace(
  target: Target,
  _aside: string,
  profiles: readonly StoredProfile[],
  added: Added,
): Promise<void> {
  for (let at = 0; at < profiles.length; at += FLUSHES_AT_ONCE) {
    await publishSome(target, profiles.slice(at, at + FLUSHES_AT_ONCE), added)
  }
}

async function publishSome(target: Target, profiles: readonly StoredProfile[], added: Added): Promise<void> {
  const known: string[] = []
  const written = new Map<number, StoredProfile>()
  try {
    for (const profile of profiles) {
      const found = find(target, fileName(profile.iccid))
      if (found !== undefined) known.push(found)
      const file = found === undefined ? create(target, profile) : undefined
      if (file === undefined) added.known.push(profile.iccid)
      else {
        written.set(file, profile)
        writeFileSync(file, toFile(profile))
      }
    }
    await Promise.all([...[...written.keys()].map(flushFile), ...known.map(flushKnown)])
    for (const profile of written.values()) {
      const isStored = stays(target.directory, fileName(profile.iccid), profile)
      const list = isStored ? added.stored : added.known
      list.push(profile.iccid)
    }
  } finally {
    for (const file of written.keys()) closeSync(file)
  }
}

/** @returns undefined if another process has stored the profile in the meantime */
function create({ directory, rights }: Target, profile: StoredProfile): number | undefined {
  const name = fileName(profile.iccid)
  const path = join(directory, name)
  try {
    return openSync(path, 'wx', fileRights(rights))
  } catch (error) {
    if (!isExisting(error, path)) throw error
    if (isWhole(directory, name)) return undefined
    const file = openSync(path, 'r+')
    ftruncateSync(file)
    return file
  }
}

/**
 * Since the search, another process may have stored the same profile, and a third one claimed it. Or this profile itself
 * was claimed at once. The used name is empty during a claim.
 * @returns false if the directory already had the profile; the file of this process is removed then
 */
function stays(directory: string, name: string, profile: StoredProfile): boolean {
  const used = lstatSync(join(directory, usedName(name)), { throwIfNoEntry: false })
  if (used === undefined || used.size === 0) return true
  if (holds(directory, usedName(name), profile)) return true
  // The claim may have been reversed. Remove only the file of this process.
  if (holds(directory, name, profile)) unlinkSync(join(directory, name))
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
