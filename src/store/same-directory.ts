/** Where two directories are, seen from each other. Their names say little: links and mounts lead anywhere. */
import { statSync } from 'node:fs'
import { Failure } from '../failure.ts'

/** A file system may have no end that can be seen. */
const DEEPEST = 256

const statusOf = (path: string) => statSync(path, { bigint: true, throwIfNoEntry: false })

/** Whether two paths lead to the same directory, as far as its numbers say. */
export function isSame(source: string, target: string): boolean {
  const [one, other] = [statusOf(source), statusOf(target)]
  return other !== undefined && one?.dev === other.dev && one.ino === other.ino
}

/** Whether two directories are on one disk, or one partition of it. */
export const areOnOneDisk = (source: string, target: string) =>
  statusOf(source)?.dev === statusOf(target)?.dev

export const sameDirectory = (source: string, target: string) =>
  new Failure('same-directory', `${source} and ${target} are the same directory`)

/**
 * Whether a directory is inside another one, or is that one, as far as this user may look. The system finds the place
 * above: the path of a mount or a link does not say it.
 */
export function isInside(inner: string, outer: string): boolean {
  try {
    let place = inner
    for (let depth = 0; depth < DEEPEST; depth++) {
      if (isSame(place, outer)) return true
      const above = `${place}/..`
      if (isSame(place, above)) return false
      place = above
    }
  } catch {}
  return false
}
