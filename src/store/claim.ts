import { closeSync, lstatSync, openSync, renameSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { errnoOf, Failure, reasonOf, UnusableProfile } from '../failure.ts'
import { isExisting } from './links.ts'
import { spellings, usedName } from './names.ts'

/** Errors if another program has the file open. */
const HELD = ['EACCES', 'EBUSY', 'EPERM']

/** The same when creating a name. On systems other than Windows, the other codes mean missing permissions. */
const CANT_CREATE = process.platform === 'win32' ? HELD : ['EBUSY']

/** Over SFTP, EPERM may also mean that another call had the used name, and has given it back since. */
const CREATE_TRIES = 5

/** On Windows, a virus scanner may hold a file briefly. One second in total is enough. */
const HELD_TRIES = process.platform === 'win32' ? 50 : 0
const HELD_PAUSE_MS = 20

/** No claim takes this long between its two steps, unless its process has ended. */
const UNFINISHED_AFTER_MS = 60_000

/**
 * Claims an unused profile in two steps: creates its used name, then renames the file over it. Only one process can
 * create a name, on every file system and over every protocol (open(2), O_EXCL; CREATE_NEW on Windows). A rename
 * alone is not a claim: on Windows and SMB, two processes can both succeed with it. The claim is durable once
 * `flushFiles` and a directory flush have run.
 * @param name the name of the unused file
 * @returns false if another process was first
 * @throws {UnusableProfile} `held` if another program has the file open (nothing is claimed); `damaged` if the unused
 *   file disappeared during the claim, which must be reported
 * @throws {Failure} `disk`; nothing is claimed
 */
export function claim(directory: string, name: string): boolean {
  const used = join(directory, usedName(name))
  if (!createUsed(directory, name)) return false
  try {
    renamePatiently(join(directory, name), used)
    return true
  } catch (error) {
    const code = errnoOf(error) ?? ''
    if (code === 'ENOENT') {
      // Either a tool that only renames was first, or this call was, and the server restarted before it answered.
      throw new UnusableProfile('damaged', 'it is now used, but not claimed by this call', { cause: error })
    }
    releaseEmpty(used, name)
    throw notClaimed(name, error, HELD.includes(code))
  }
}

/**
 * @returns false if another process was first
 * @throws as `claim`
 */
function createUsed(directory: string, name: string, tries = CREATE_TRIES): boolean {
  const used = join(directory, usedName(name))
  try {
    if (isUsed(directory, name)) return false
    closeSync(openSync(used, 'wx', 0o600))
    return true
  } catch (error) {
    const code = errnoOf(error) ?? ''
    if (isExisting(error, used) || code === 'ENOENT') return false
    if (code === 'EPERM' && tries > 1) return createUsed(directory, name, tries - 1)
    throw notClaimed(name, error, CANT_CREATE.includes(code))
  }
}

function notClaimed(name: string, error: unknown, isHeld: boolean): Error {
  if (isHeld)
    return new UnusableProfile('held', `it can't be marked as used: ${reasonOf(error)}`, { cause: error })
  return new Failure('disk', `can't mark ${name} as used: ${reasonOf(error)}`, {
    hint: 'give this user permission to create and rename files in the directory; nothing was claimed',
    cause: error,
  })
}

/** @throws {Failure} `disk` */
function releaseEmpty(used: string, name: string): void {
  try {
    if (lstatSync(used).size === 0) unlinkSync(used)
  } catch (error) {
    throw new Failure('disk', `${name} now counts as used but was not printed: ${reasonOf(error)}`, {
      hint: `give this user permission to rename and remove files in the directory, then remove the empty file ${usedName(name)}`,
      cause: error,
    })
  }
}

/**
 * No other process renames a used file.
 * @throws the system error
 */
export function unclaim(directory: string, name: string): void {
  renamePatiently(join(directory, usedName(name)), join(directory, name))
}

/**
 * A crash between the two steps of a claim leaves an empty used file beside the unused one.
 * @param names unused files that have a used twin
 * @returns the names whose claims were finished; their profiles are used but were not printed
 */
export function finishClaims(directory: string, names: readonly string[]): string[] {
  return names.filter((name) => {
    const used = lstatSync(join(directory, usedName(name)), { throwIfNoEntry: false })
    const isOld = Math.abs(Date.now() - (used?.mtimeMs ?? Date.now())) > UNFINISHED_AFTER_MS
    return isOld && finishClaim(directory, name)
  })
}

/** @returns false if there is no unfinished claim */
export function finishClaim(directory: string, name: string): boolean {
  const unused = join(directory, name)
  const used = join(directory, usedName(name))
  try {
    if (!isEmptyFile(used) || isEmptyFile(unused)) return false
    renamePatiently(unused, used)
    return true
  } catch {
    return false
  }
}

function isEmptyFile(path: string): boolean {
  const status = lstatSync(path)
  return status.isFile() && status.size === 0
}

/** Under any spelling of its name. */
export function isUsed(directory: string, name: string): boolean {
  return spellings(name).some((each) => exists(join(directory, usedName(each))))
}

const exists = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined

/** @throws the system error */
export function renamePatiently(from: string, to: string): void {
  for (let tries = HELD_TRIES; ; tries--) {
    try {
      renameSync(from, to)
      return
    } catch (error) {
      if (tries <= 0 || !HELD.includes(errnoOf(error) ?? '')) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, HELD_PAUSE_MS)
    }
  }
}
