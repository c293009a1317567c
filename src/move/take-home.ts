import { Failure } from '../failure.ts'
import { fullPath } from '../full-path.ts'
import { refuseCopy } from '../store/identity.ts'
import { readUnused } from '../store/listing.ts'
import { decideFate, isMarked, openMoves } from '../store/move-journal.ts'
import { several } from '../words.ts'
import { failureOf, type Order, takeBack } from './move.ts'

/**
 * Takes home what an interrupted move has claimed and not begun to give. The target may be away.
 * @throws {Failure} `copy`, `no-move` if there is nothing, `not-taken-back` if the target may have some of it
 */
export async function takeHome(wanted: Pick<Order, 'source' | 'target' | 'messages'>): Promise<void> {
  const { source, target, messages } = wanted
  try {
    // If there is no such directory, this says so.
    readUnused(source)
    refuseCopy(source)
    const open = openMoves(source)
    const moves = open.filter(
      ({ move, journal }) => journal.plan.to === fullPath(target) || isMarked(target, move),
    )
    let back = 0
    let isAnyGiven = false
    for (const { move } of moves) {
      const journal = await decideFate(move, 'back')
      if (journal.plan === undefined || journal.fate === 'given') isAnyGiven = true
      else back += await takeBack(move, journal, messages)
    }
    if (back > 0) messages.tell(0, `${several(back, 'profile')} taken back to ${source}`)
    if (isAnyGiven)
      throw new Failure('not-taken-back', `profiles that ${target} may have can't be taken back to ${source}`)
    if (back > 0) return
    if (moves.length > 0) return messages.tell(0, `nothing is in transit from ${source} to ${target}`)
    const going = open.find(({ journal }) => journal.fate !== 'back')
    const facts = { kind: 'no-move', to: going?.journal.plan.to } as const
    throw new Failure(facts, `no interrupted move from ${source} to ${target}`)
  } catch (error) {
    throw failureOf(error, wanted)
  }
}
