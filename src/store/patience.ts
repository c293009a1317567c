/** What a call puts up with, of the errors of a file system. */
import { errnoOf } from '../failure.ts'
import { pause } from '../pause.ts'

/** Errors if another program has the file open. On Windows, that may be a virus scanner or a backup, for a moment. */
const HELD = ['EACCES', 'EBUSY', 'EPERM']

/** One second in total is enough. */
export const TRIES = 50
export const PAUSE_MS = 20

export const isHeld = (error: unknown) => HELD.includes(errnoOf(error) ?? '')

/**
 * Does something with a file that another program on Windows may have open for a moment.
 * @throws the error of the last try
 */
export function patiently<T>(action: () => T): T {
  for (let tries = process.platform === 'win32' ? TRIES : 0; ; tries--) {
    try {
      return action()
    } catch (error) {
      if (tries <= 0 || !isHeld(error)) throw error
      pause(PAUSE_MS)
    }
  }
}

/** @throws any error but ENOENT */
export function ignoreIfGone(error: unknown): undefined {
  if (errnoOf(error) !== 'ENOENT') throw error
}

/**
 * @returns undefined if there is no such file
 * @throws the system error, other than ENOENT
 */
export function ifThere<T>(action: () => T): T | undefined {
  try {
    return action()
  } catch (error) {
    return ignoreIfGone(error)
  }
}

/** @returns undefined if it fails, for whatever reason */
export function attempt<T>(action: () => T): T | undefined {
  try {
    return action()
  } catch {
    return undefined
  }
}
