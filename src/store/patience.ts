/** Which errors of a file system a call tries again after, or ignores. */
import { errnoOf } from '../failure.ts'
import { pause } from '../pause.ts'

/** Errors if another program has the file open. On Windows, that may be a virus scanner or a backup, for a moment. */
const HELD = ['EACCES', 'EBUSY', 'EPERM']

/** One second in total is enough. */
export const TRIES = 50
export const PAUSE_MS = 20

/** Of rounds for what other calls claim meanwhile. Each of them needs few steps. */
export const ROUNDS = 100

export const isHeld = (error: unknown) => HELD.includes(errnoOf(error) ?? '')

/** Over NFS: another client has removed or replaced what this one has found. A second look finds what is there now. */
const isStale = (error: unknown) => errnoOf(error) === 'ESTALE'

function retry<T>(action: () => T, isPassing: (error: unknown) => boolean): T {
  for (let tries = TRIES; ; tries--) {
    try {
      return action()
    } catch (error) {
      if (tries <= 0 || !isPassing(error)) throw error
      pause(PAUSE_MS)
    }
  }
}

/**
 * Looks at what other stations may remove or replace at the same time.
 * @throws the error of the last try
 */
export const afresh = <T>(look: () => T): T => retry(look, isStale)

/**
 * Also does something with a file that another program on Windows may have open for a moment.
 * @throws the error of the last try
 */
export const patiently = <T>(action: () => T): T =>
  retry(action, (error) => isStale(error) || (process.platform === 'win32' && isHeld(error)))

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
