import { link, lstat, mkdir, open, rename, rmdir, stat, unlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import pLimit from 'p-limit'
import { errnoOf, Failure, reasonOf } from '../errors.ts'
import { flushDirectory } from './flush.ts'
import { Hint } from './hint.ts'
import { ASIDE, asidePath, INCOMING, newAside, type StoredProfile, toAside, toFile } from './incoming.ts'
import { fileName, usedName } from './names.ts'

/** Flushes that run together share the disk's work. */
const AT_ONCE = 16

/** What these codes have in common: the file system has no hard links. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EINVAL', 'EMLINK']

/** What became of the profiles of one answer. */
export interface Added {
  stored: number
  /** ICCIDs that the directory had already, used or not; they are left alone. */
  known: string[]
}

/** A directory that profiles are added to. */
export interface Target {
  readonly directory: string
  /** The directory's rights, without other users': what is made in it gets the same. */
  readonly mode: number
}

/**
 * Makes the directory, private to the user, where it is missing, and durable.
 * @throws {Failure} `disk`
 */
export async function openTarget(directory: string): Promise<Target> {
  try {
    const made = await mkdir(directory, { recursive: true, mode: 0o700 })
    if (made !== undefined) {
      for (let path = resolve(directory); path !== dirname(resolve(made)); path = dirname(path)) {
        await flushDirectory(dirname(path))
      }
    }
    const { mode } = await stat(directory)
    return { directory, mode: mode & 0o770 }
  } catch (error) {
    throw new Failure('disk', `can't make the directory ${directory}: ${reasonOf(error)}`, { cause: error })
  }
}

/**
 * Adds the profiles of one answer. They are put aside first, all in one file, and flushed: from then on a crash loses
 * none of them. Then each is published under its own name, which never overwrites, and the file is removed.
 * @throws {Failure} `disk`; what was put aside will be published by the next call
 */
export async function add(target: Target, profiles: readonly StoredProfile[]): Promise<Added> {
  if (profiles.length === 0) return { stored: 0, known: [] }
  const aside = newAside()
  try {
    await putAside(target, aside, profiles)
  } catch (error) {
    throw new Failure(
      'disk',
      `${profiles.length} profiles were received and can't be stored: ${reasonOf(error)}`,
      {
        hint: `make room in ${target.directory} or repair it, then fetch again; these profiles are allocated and lost`,
        cause: error,
      },
    )
  }
  return publishAside(target, aside, profiles)
}

/**
 * Publishes what has been put aside, and removes it when all of it is durable.
 * @throws {Failure} `disk`
 */
export async function publishAside(
  target: Target,
  aside: string,
  profiles: readonly StoredProfile[],
): Promise<Added> {
  const { directory } = target
  const added: Added = { stored: 0, known: [] }
  const atOnce = pLimit(AT_ONCE)
  try {
    await atOnce.map(profiles, async (profile, at) => {
      const temporary = asidePath(directory, `${aside}.${at}`)
      if (await publish(target, profile, temporary)) added.stored++
      else added.known.push(profile.iccid)
    })
    await flushDirectory(directory)
    await unlink(asidePath(directory, aside + ASIDE))
    return added
  } catch (error) {
    throw new Failure('disk', `can't store a profile in ${directory}: ${reasonOf(error)}`, {
      hint: 'what was received is put aside there; the next call of fetch or next publishes it',
      cause: error,
    })
  }
}

/** Tidies up after profiles were added. What is still put aside stays. */
export async function closeTarget({ directory }: Target): Promise<void> {
  Hint.drop(directory)
  await rmdir(join(directory, INCOMING)).catch(() => {})
}

async function putAside({ directory, mode }: Target, aside: string, profiles: readonly StoredProfile[]) {
  const place = join(directory, INCOMING)
  if (await mkdir(place, { recursive: true, mode })) await flushDirectory(directory)
  const path = asidePath(directory, aside + ASIDE)
  try {
    await writeDurably(path, toAside(profiles), mode)
    await flushDirectory(place)
  } catch (error) {
    await unlink(path).catch(() => {})
    throw error
  }
}

/**
 * Gives one profile its name in the directory.
 * @returns false where it is known already
 */
async function publish(target: Target, profile: StoredProfile, temporary: string): Promise<boolean> {
  const unused = join(target.directory, fileName(profile.iccid))
  const used = join(target.directory, usedName(fileName(profile.iccid)))
  // In this order: a profile on its way from unused to used is seen in one of the two places.
  if ((await exists(unused)) || (await exists(used))) return false
  await writeDurably(temporary, toFile(profile), target.mode)
  try {
    await linkOrRename(temporary, unused)
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
    return false
  } finally {
    await unlink(temporary).catch(() => {})
  }
  // Somebody else may have published the same profile since we looked, and somebody else claimed it.
  if (!(await exists(used))) return true
  await unlink(unused).catch(() => {})
  return false
}

/** Gives a file a name that must be new. Unlike rename, link fails where the name exists, on every system. */
async function linkOrRename(from: string, to: string): Promise<void> {
  try {
    await link(from, to)
  } catch (error) {
    if (!NO_LINKS.includes(errnoOf(error) ?? '')) throw error
    // FAT and the like: an empty file takes the name, and is then replaced by its contents.
    await (await open(to, 'wx')).close()
    await rename(from, to)
  }
}

async function writeDurably(path: string, text: string, mode: number): Promise<void> {
  const file = await open(path, 'wx', mode & 0o660)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

const exists = (path: string) =>
  lstat(path).then(
    () => true,
    (error) => {
      if (errnoOf(error) === 'ENOENT') return false
      throw error
    },
  )
