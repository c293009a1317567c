import { basename, dirname } from 'node:path'
import { Failure } from '../failure.ts'
import { fullPath } from '../full-path.ts'
import { isInside, isSame, sameDirectory } from '../store/directory-entries.ts'
import { refuseCopy } from '../store/identity.ts'
import { isDirectory } from '../store/incoming/target-directory.ts'
import { countMoved, isMarked, openMoves } from '../store/move-journal.ts'
import { isProfileName } from '../store/names.ts'
import { several } from '../words.ts'

/**
 * Looks at both directories before anything is written.
 * @throws {Failure} `usage`, `no-profiles` or `copy`
 */
export function checkPlaces(source: string, target: string): void {
  if (isSame(source, target)) throw sameDirectory(source, target)
  if (isProfileName(basename(target)))
    throw new Failure('profile-as-target', `${target}: a directory can't have the name of a profile`)
  const above = dirname(target)
  if (!isDirectory(above)) throw noPlace(source, above)
  const isThere = isDirectory(target)
  if (isInside(isThere ? target : above, source)) throw nested(target, source)
  if (isThere && isInside(source, target)) throw nested(source, target)
  for (const each of [source, target]) refuseCopy(each)
  refuseOtherDisk(source, target)
}

/** Whoever believes that nothing has left the source begins another move. */
function noPlace(source: string, above: string) {
  const missing = `the directory ${above} does not exist`
  const { inTransit } = countMoved(source)
  if (inTransit.size === 0) return new Failure('no-place', missing)
  const places = [...new Set(inTransit.values())].join(' and ')
  return new Failure(
    'disk-away',
    `${missing}, with ${several(inTransit.size, 'profile')} in transit to ${places}`,
  )
}

/** Whoever copies the outer one takes the inner one for a part of it. */
const nested = (inner: string, outer: string) =>
  new Failure('nested-directories', `${inner} is inside ${outer}`)

function refuseOtherDisk(source: string, target: string): void {
  const lost = openMoves(source).find(
    ({ move, journal: { plan, fate } }) =>
      fate !== 'back' && plan.to === fullPath(target) && !isMarked(target, move),
  )
  if (lost === undefined) return
  const now = isDirectory(target) ? `${target} is another one now` : `${target} does not exist`
  throw new Failure('other-disk', `a move to ${target} is not finished, and ${now}`)
}
