/**
 * How a profile becomes used. A call *begins* a claim: it creates the used name. It *completes* the claim: it removes
 * the unused name. From then on the profile is its own, for ever. Until then, the call can *release* the claim, and
 * another call can *take it over* if this one was killed, or seems to be. Each of these steps is decided by the creation
 * of a name, which only one process can do (open(2), O_EXCL; mkdir(2); CREATE_NEW on Windows). So a call may pause
 * between any two steps, for any time.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { errnoOf, Failure, reasonOf, UnusableProfile } from '../../failure.ts'
import { pause } from '../../pause.ts'
import { isFat } from '../flush/directory.ts'
import { flushFileSync } from '../flush/files.ts'
import { settledName, spellings, usedName } from '../names.ts'
import { isHeld, patiently } from '../patience.ts'
import { tryToRemove } from '../remove.ts'
import { fileRights, rightsOf } from '../rights.ts'
import { exists, isTakenOver, stuck } from './use.ts'

/** Over SFTP, EPERM may also mean that another call had the used name, and has released it since. */
const CREATE_TRIES = 5

/** Errors if another program has the file open. On other systems, the other codes mean missing permissions. */
const CANT_CREATE = process.platform === 'win32' ? ['EACCES', 'EBUSY', 'EPERM'] : ['EBUSY']

/** Another call may have released the same profile right before. */
const RELEASE_TRIES = 50
const RELEASE_PAUSE_MS = 20

/**
 * Begins to claim an unused profile: creates its used name.
 * @param name the name of the unused file
 * @param create creates a file that must be new, and throws EEXIST if it is not; the used file of a plain claim is empty
 *   until the claim is complete
 * @returns false if another process was first
 * @throws {UnusableProfile} `held` if another program has the file open; nothing is claimed
 * @throws {Failure} `disk`
 */
export function begin(
  directory: string,
  name: string,
  create: (path: string) => void = createEmpty,
  tries = CREATE_TRIES,
): boolean {
  const used = join(directory, usedName(name))
  try {
    if (isUsed(directory, name)) return false
    create(used)
    return true
  } catch (error) {
    if (isExisting(error, used) || errnoOf(error) === 'ENOENT') return false
    if (errnoOf(error) === 'EPERM' && tries > 1) return begin(directory, name, create, tries - 1)
    throw notClaimed(directory, name, error, CANT_CREATE.includes(errnoOf(error) ?? ''))
  }
}

/** Other stations may have to finish the claim. */
const createEmpty = (path: string) =>
  patiently(() => closeSync(openSync(path, 'wx', fileRights(rightsOf(dirname(path))))))

/**
 * Completes a plain claim: renames the unused file over the empty used one. The claim is durable once `flushFiles` and a
 * directory flush have run.
 * @param stored the text of the unused file
 * @returns false if the profile was taken over, or went to a tool that only renames
 * @throws {UnusableProfile} `held`; nothing is claimed
 * @throws {Failure} `disk`
 */
export function complete(directory: string, name: string, stored: string): boolean {
  const [unused, used] = [join(directory, name), join(directory, usedName(name))]
  try {
    if (isFat(directory)) copy(stored, unused, used)
    else patiently(() => renameSync(unused, used))
  } catch (error) {
    // The unused file is gone: a tool that only renames may have put it in the place of the used one. Over a network, that
    // can still look empty.
    if (errnoOf(error) === 'ENOENT') return false
    // A complete copy may be another tool's.
    release(directory, name, (text) => text !== stored && stored.startsWith(text))
    throw notClaimed(directory, name, error, isHeld(error))
  }
  return !isTakenOver(directory, name)
}

/**
 * On FAT, a renamed file has no contents on the disk until it is flushed, but another call may flush the directory.
 */
function copy(stored: string, unused: string, used: string): void {
  const file = patiently(() => openSync(used, 'r+'))
  try {
    // Another call has put its own file in the place of the empty one.
    if (fstatSync(file).size > 0) throw Object.assign(new Error(`${used} is not empty`), { code: 'ENOENT' })
    writeFileSync(file, stored)
    flushFileSync(file)
  } finally {
    closeSync(file)
  }
  unlinkSync(unused)
}

/**
 * Claims one profile.
 * @returns false if another process has it
 * @throws as `begin` and `complete`
 */
export const claim = (directory: string, name: string, stored: string) =>
  begin(directory, name) && complete(directory, name, stored)

/**
 * Releases a claim that this call has begun and not completed. While the settled name is a file, no other call takes the
 * claim over. If another one has, it keeps the profile.
 * @param isOwn whether a used file with this text is this call's: another tool may have renamed the unused file over it
 * @throws {Failure} `disk` if the profile stays marked as used
 */
export function release(
  directory: string,
  name: string,
  isOwn: (text: string) => boolean = (text) => text === '',
): void {
  const [used, settled] = [join(directory, usedName(name)), join(directory, settledName(name))]
  if (!createSettled(directory, name)) return
  try {
    if (isOwn(readFileSync(used, 'utf8'))) removeUsed(used, settled, isOwn)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw stuck(name, error)
  } finally {
    // If it stays, the profile is unused all the same.
    tryToRemove(settled)
  }
}

/** Another tool may rename the unused file over it at this moment, so it is renamed away first, if that is possible. */
function removeUsed(used: string, settled: string, isOwn: (text: string) => boolean): void {
  try {
    patiently(() => renameSync(used, settled))
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') throw error
    // A disk that fails may have done what it was asked to do, and another call may have claimed the profile since.
    if (isOwn(readFileSync(used, 'utf8'))) patiently(() => unlinkSync(used))
    return
  }
  if (!isOwn(readFileSync(settled, 'utf8'))) patiently(() => renameSync(settled, used))
}

/** @returns false if the claim is taken over */
function createSettled(directory: string, name: string): boolean {
  const settled = join(directory, settledName(name))
  for (let tries = RELEASE_TRIES; ; tries--) {
    try {
      createEmpty(settled)
      return true
    } catch (error) {
      if (isTakenOver(directory, name)) return false
      // The call that had the profile before removes the name when it has released its own claim.
      if (tries <= 0 || !isExisting(error, settled)) throw stuck(name, error)
      pause(RELEASE_PAUSE_MS)
    }
  }
}

function notClaimed(directory: string, name: string, error: unknown, isInUse: boolean): Error {
  // A disk that fails may have done what it was asked to do.
  if (existsSync(join(directory, usedName(name)))) return stuck(name, error)
  if (isInUse)
    return new UnusableProfile('held', `it can't be marked as used: ${reasonOf(error)}`, { cause: error })
  return new Failure('not-claimed', `can't mark ${name} as used: ${reasonOf(error)}`, error)
}

/** Under any spelling of its name. */
const isUsed = (directory: string, name: string) =>
  spellings(name).some((each) => exists(join(directory, usedName(each))))

/**
 * Whether a name could not be created because it exists. Over SFTP (sshfs), the server gives no reason for that, and it
 * becomes EPERM.
 */
export const isExisting = (error: unknown, path: string) =>
  errnoOf(error) === 'EEXIST' || (errnoOf(error) === 'EPERM' && existsSync(path))
