import { linkSync } from 'node:fs'
import { errnoOf } from '../failure.ts'

/**
 * What these codes have in common: the file system has no hard links. EISDIR is exFAT on Windows (nodejs/node #65817),
 * EIO a mount of rclone; where it is a broken disk, the other way fails as well, and that is told.
 */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EINVAL', 'EMLINK', 'EISDIR', 'EIO']

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
    const code = errnoOf(error) ?? ''
    if (code === 'EEXIST') return 'exists'
    if (NO_LINKS.includes(code)) return 'unable'
    throw error
  }
}
