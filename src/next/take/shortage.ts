import { Failure } from '../../failure.ts'
import { countReceived } from '../../store/incoming/answers.ts'
import type { Unused } from '../../store/listing.ts'
import { hasMovesOut } from '../../store/move-journal.ts'
import { whyNone } from '../../store/read.ts'
import { several } from '../../words.ts'
import type { Skipped } from './skipped.ts'

/** Too few profiles can be handed out. The files that were skipped explain why. */
export class Shortage extends Failure {}

/** What a call says that finds too few profiles. */
export function shortage(
  directory: string,
  { count, usable }: Readonly<{ count: number; usable: number }>,
  { used }: Pick<Unused, 'used'>,
  skipped: Pick<Skipped, 'count' | 'held' | 'unreadable' | 'unread'>,
): Shortage {
  const { unreadable } = skipped
  if (unreadable > 0 && (usable === 0 || usable + unreadable >= count)) {
    const what = several(unreadable, 'unused profile')
    return new Shortage('unreadable', `${what} in ${directory} can't be read`, skipped.unread)
  }
  if (usable > 0) {
    return new Shortage(
      'too-few',
      `at most ${usable} of ${count} requested profiles are available in ${directory}`,
    )
  }
  const received = countReceived(directory)
  const pending = received > 0 ? ({ kind: 'received', count: received } as const) : undefined
  if (skipped.count === 0) {
    const why = whyNone(directory, used, isAnyMoved(directory))
    return new Shortage(pending ?? why, `no unused profile in ${directory}`)
  }
  if (pending !== undefined) return new Shortage(pending, `no unused profile in ${directory} can be used yet`)
  if (skipped.held === skipped.count) {
    const facts = { kind: 'all-held', claims: true } as const
    return new Shortage(facts, `other programs have all unused profiles in ${directory} open`)
  }
  return new Shortage('none-usable', `none of the unused profiles in ${directory} can be used`)
}

/** What can't be read does not hide why the call fails. */
function isAnyMoved(directory: string): boolean {
  try {
    return hasMovesOut(directory)
  } catch {
    return false
  }
}
