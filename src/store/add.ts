import { closeSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure, reasonOf } from '../errors.ts'
import { flushDirectory, flushFile, flushPath } from './flush.ts'
import { ASIDE, asidePath, INCOMING, newAside, type StoredProfile, toAside } from './incoming.ts'
import { type Added, publish } from './publish.ts'
import { createAside, type Target } from './target.ts'

/**
 * Adds the profiles of one answer. They are put aside first, all in one file, and flushed: from then on a crash loses
 * none of them. Then each is published under its own name, which never overwrites, and the file is removed.
 * @throws {Failure} `disk`; what was put aside is published by the next call of `fetch` or `next`
 */
export async function add(target: Target, profiles: readonly StoredProfile[]): Promise<Added> {
  if (profiles.length === 0) return { stored: [], known: [] }
  const aside = newAside()
  try {
    await putAside(target, aside, profiles)
  } catch (error) {
    const iccids = profiles.map(({ iccid }) => iccid)
    throw new Failure('disk', `received and can't be stored: ${iccids.join(' ')}: ${reasonOf(error)}`, {
      hint: 'make room or repair the disk; ask the service for these profiles, they are allocated and not stored',
      cause: error,
    })
  }
  return publishAside(target, aside, profiles)
}

/**
 * Publishes what has been put aside, and removes it when all of it is durable.
 * @param kept another path for it, where it is not to be removed
 * @throws {Failure} `disk`
 */
export async function publishAside(
  target: Target,
  aside: string,
  profiles: readonly StoredProfile[],
  kept?: string,
): Promise<Added> {
  const { directory } = target
  const path = asidePath(directory, aside + ASIDE)
  try {
    const added = await publish(target, aside, profiles)
    await flushDirectory(directory)
    if (kept === undefined) rmSync(path, { force: true })
    else {
      renameSync(path, kept)
      await flushPath(kept)
    }
    return added
  } catch (error) {
    throw new Failure('disk', `can't store profiles in ${directory}: ${reasonOf(error)}`, {
      hint: 'what was received is put aside there; the next call of fetch or next stores it',
      cause: error,
    })
  }
}

async function putAside(target: Target, aside: string, profiles: readonly StoredProfile[]): Promise<void> {
  const name = aside + ASIDE
  try {
    const file = await createAside(target, name)
    try {
      writeFileSync(file, toAside(profiles))
      await flushFile(file)
    } finally {
      closeSync(file)
    }
    await flushDirectory(join(target.directory, INCOMING))
  } catch (error) {
    // What is told to be lost must not turn up later: somebody may have asked for it again.
    rmSync(asidePath(target.directory, name), { force: true })
    throw error
  }
}
