import { Failure } from '../failure.ts'
import { fullPath } from '../full-path.ts'
import { takeBack } from '../store/move/claim.ts'
import { targetOfMove } from '../store/move/drafts.ts'
import { isMarked, openMoves } from '../store/move/journal.ts'
import { readUnused } from '../store/read.ts'
import { type Messages, several } from '../words.ts'
import { failureOf } from './run.ts'

export interface Return {
  readonly source: string
  readonly target: string
  readonly messages: Messages
}

/**
 * Takes home what an interrupted move has claimed and not begun to give. The target may be away.
 * @throws {Failure} `no-profiles` if there is nothing, or if the target may have some of it
 */
export function takeHome(wanted: Return): void {
  try {
    takeAllBack(wanted)
  } catch (error) {
    throw failureOf(error, wanted)
  }
}

function takeAllBack({ source, target, messages }: Return): void {
  // If there is no such directory, this says so.
  readUnused(source)
  const moves = openMoves(source).filter(
    (move) => targetOfMove(move) === fullPath(target) || isMarked(target, move),
  )
  const counts = moves.map((move) => takeBack(move, messages))
  const back = counts.reduce<number>((sum, count) => sum + (count ?? 0), 0)
  if (back > 0) messages.tell(0, `${several(back, 'profile')} taken back to ${source}`)
  if (counts.includes(undefined)) {
    throw new Failure('not-taken-back', `profiles that ${target} may have can't be taken back to ${source}`)
  }
  if (openMoves(source).some(({ id }) => moves.some((move) => move.id === id))) {
    throw new Failure('busy-move', 'another call is taking the move back')
  }
  if (back > 0) return
  throw new Failure('no-move', `no interrupted move from ${source} to ${target}`)
}
