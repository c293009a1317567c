/** How a profile that a move has claimed comes to the target: once, and under its next number if it was there before. */
import { reasonOf } from '../../failure.ts'
import { iccidDigits } from '../../profile/iccid.ts'
import { comeAll, isProfileOf, type Use, useAt } from '../claim.ts'
import { refuseFailures, settle } from '../decision.ts'
import type { Comings } from '../listing.ts'
import { goneFrom, isMarked, type Move } from '../move-journal.ts'
import { comingKey, fileName, keyOf } from '../names.ts'
import { arrivedBy, readProfile, type Tombstone, tombstoneIn } from '../profile-file.ts'

/** Where a move goes. */
interface Arrival extends Pick<Move, 'id'> {
  readonly target: string
  /** Whether version 1.1 began it. */
  readonly isEarlier?: boolean
  /** What the names in the target say. */
  readonly comings?: Comings
}

/**
 * Stores profiles that a move has claimed in its target, unless the target has them, or had them by this move.
 * @throws the system error
 */
export async function arrive(arrival: Arrival, tombstones: readonly Tombstone[]): Promise<void> {
  const creations = tombstones.flatMap(({ profile }) => {
    const key = keyInTarget(arrival, profile.iccid)
    return key === undefined ? [] : { key, text: JSON.stringify({ ...profile, from: arrival.id }) }
  })
  refuseFailures(await comeAll(arrival.target, creations))
}

/**
 * Of a profile that came back to the target, the last time counts.
 * @returns what a profile is to be in the target; undefined if it came by this move, or if the target has it otherwise
 */
function keyInTarget({ target, id, isEarlier, comings }: Arrival, iccid: string): string | undefined {
  const digits = iccidDigits(iccid) ?? ''
  let last: Use = { state: 'gone' }
  for (let number = 1; ; number++) {
    const name = fileName(keyOf({ digits, number }))
    let use = useAt(target, name)
    if (use.state === 'unused') {
      // It may be about to become complete.
      settle(target, comingKey(name))
      if (holdsProfile(target, use.name)) return undefined
      // Somebody may have claimed it since the first look.
      use = useAt(target, name)
    }
    if (use.state === 'gone' && number < (comings?.get(digits) ?? 1)) continue
    if (use.state === 'gone') return canComeAfter(last, isEarlier) ? comingKey(name) : undefined
    if (use.state !== 'unused' && arrivedBy(use.text) === id) return undefined
    last = use
  }
}

/**
 * Whether the target of a move would still take a profile of it.
 * @throws the system error
 */
export const lacks = (target: string, id: string, iccid: string): boolean =>
  isMarked(target, { id }) &&
  !goneFrom(target, id).has(iccid) &&
  keyInTarget({ target, id }, iccid) !== undefined

/** What an unused file holds here is not the profile. What the target gave away can return to it. */
const canComeAfter = (use: Use, isEarlier = false): boolean =>
  use.state === 'gone' ||
  use.state === 'unused' ||
  (use.state === 'used' && !isEarlier && tombstoneIn(use.text) !== undefined)

/**
 * @returns false if the file holds something else
 * @throws {Error} if it can't be read. Through another mount of the source, it may be the file that this move has removed
 */
function holdsProfile(target: string, name: string): boolean {
  try {
    return isProfileOf(readProfile(target, name), name)
  } catch (error) {
    throw new Error(`${name}: ${reasonOf(error)}`, { cause: error })
  }
}
