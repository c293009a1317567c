import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { errnoOf } from '../../failure.ts'
import { fileRights, isExisting, removeIfThere } from '../directory-entries.ts'
import { FLUSHES_AT_ONCE, flushFile } from '../flush/flush.ts'
import { fileName, hasFiller } from '../names.ts'
import { patiently } from '../patience.ts'
import { type Added, find, flushKnown, isStored, isUsedSince } from './already-stored.ts'
import { type StoredProfile, toFile } from './answers.ts'
import type { Target } from './target-directory.ts'

/**
 * Publishes where the file system has no hard links. A crash can leave a torn file, but the answer that repairs it is
 * still put aside.
 * @throws the system error
 */
export async function publishInPlace(
  target: Target,
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
        if (hasFiller(fileName(profile.iccid))) target.hasFillers = true
        // In this order: another process may have completed the file meanwhile, with the same text.
        ftruncateSync(file, writeSync(file, toFile(profile), 0))
      }
    }
    await Promise.all([...[...written.keys()].map(flushFile), ...known.map(flushKnown)])
    for (const profile of written.values()) {
      const name = fileName(profile.iccid)
      const isNew = !isUsedSince(target, name)
      if (!isNew) patiently(() => removeIfThere(join(target.directory, name)))
      const list = isNew ? added.stored : added.known
      list.push(profile.iccid)
    }
  } finally {
    for (const file of written.keys()) closeSync(file)
  }
}

/** @returns undefined if another process has stored the profile in the meantime, and a third one may have claimed it */
function create({ directory, rights }: Target, profile: StoredProfile): number | undefined {
  const name = fileName(profile.iccid)
  const path = join(directory, name)
  try {
    return patiently(() => openSync(path, 'wx', fileRights(rights)))
  } catch (error) {
    if (!isExisting(error, path)) throw error
    if (isStored(directory, name)) return undefined
    return openIfThere(path)
  }
}

function openIfThere(path: string): number | undefined {
  try {
    return patiently(() => openSync(path, 'r+'))
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}
