import { linkSync, lstatSync } from 'node:fs'
import { errnoOf } from '../failure.ts'

/**
 * Errors that mean that the file system has no hard links. EISDIR comes from exFAT on Windows (nodejs/node #65817),
 * EIO from an rclone mount. If the disk is really broken, writing in place fails as well and reports it.
 */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EINVAL', 'EMLINK', 'EISDIR', 'EIO']

/**
 * Whether a file could not be created because there is one of that name. Over SFTP (sshfs), the server gives no reason for
 * that, and it becomes EPERM.
 */
export const isExisting = (error: unknown, path: string) =>
  errnoOf(error) === 'EEXIST' ||
  (errnoOf(error) === 'EPERM' && lstatSync(path, { throwIfNoEntry: false }) !== undefined)

/**
 * Gives a file a second name, which must be new: of any number of processes only one can.
 * @returns `exists` where there is something of that name, `unable` where the file system has no hard links
 * @throws the system error
 */
export function tryLink(from: string, to: string): 'linked' | 'exists' | 'unable' {
  try {
    linkSync(from, to)
    return 'linked'
  } catch (error) {
    if (isExisting(error, to)) return 'exists'
    if (NO_LINKS.includes(errnoOf(error) ?? '')) return 'unable'
    throw error
  }
}
