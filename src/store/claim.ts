import { lstatSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { errnoOf, Failure, reasonOf } from '../errors.ts'
import { pause } from '../pause.ts'
import { spellings, usedName } from './names.ts'

/**
 * Claims an unused profile by renaming its file. Of any number of processes that try, one succeeds: the file can
 * be renamed away from its name only once. The claim is durable when the directory has been flushed.
 * @returns false where another process was first
 * @throws {Failure} `disk`
 */
export function claim(directory: string, name: string): boolean {
  try {
    // rename would overwrite a used profile, and hand its identity out again.
    if (isUsed(directory, name)) return false
    renamePatiently(join(directory, name), join(directory, usedName(name)))
    return true
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false
    throw new Failure('disk', `can't mark ${name} used: ${reasonOf(error)}`, {
      hint: 'this user needs the right to rename files in the directory; nothing was claimed',
      cause: error,
    })
  }
}

/**
 * Takes back a claim of this process that nothing has come of.
 * @throws the system error
 */
export function unclaim(directory: string, name: string): void {
  renamePatiently(join(directory, usedName(name)), join(directory, name))
}

/** Whether a profile is used, in any spelling of its name. */
export function isUsed(directory: string, name: string): boolean {
  return spellings(name).some((each) => exists(join(directory, usedName(each))))
}

const exists = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined

const BUSY = ['EACCES', 'EBUSY', 'EPERM']
const BUSY_TRIES = process.platform === 'win32' ? 50 : 0
const BUSY_PAUSE_MS = 20

/** On Windows a virus scanner may hold a file for a moment, and renaming it fails meanwhile. */
function renamePatiently(from: string, to: string): void {
  for (let tries = BUSY_TRIES; ; tries--) {
    try {
      renameSync(from, to)
      return
    } catch (error) {
      if (tries <= 0 || !BUSY.includes(errnoOf(error) ?? '')) throw error
      pause(BUSY_PAUSE_MS)
    }
  }
}
