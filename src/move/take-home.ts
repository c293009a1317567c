import { Failure } from '../failure.ts'
import { fullPath } from '../full-path.ts'
import { refuseCopy } from '../store/identity.ts'
import { append, isMarked, journalOf, type Move, openMoves } from '../store/move-journal.ts'
import { readUnused } from '../store/read.ts'
import { type Messages, several } from '../words.ts'
import { failureOf, takeBack } from './move.ts'

export interface Return {
  readonly source: string
  readonly target: string
  readonly messages: Messages
}

/**
 * Takes home what an interrupted move has claimed and not begun to give. The target may be away.
 * @throws {Failure} `copy`, `no-move` if there is nothing, `not-taken-back` if the target may have some of it
 */
export async function takeHome(wanted: Return): Promise<void> {
  try {
    await takeAllBack(wanted)
  } catch (error) {
    throw failureOf(error, wanted)
  }
}

async function takeAllBack({ source, target, messages }: Return): Promise<void> {
  // If there is no such directory, this says so.
  readUnused(source)
  refuseCopy(source)
  const open = openMoves(source)
  const moves = open.filter((move) => journalOf(move).plan?.to === fullPath(target) || isMarked(target, move))
  let back = 0
  let isAnyGiven = false
  for (const move of moves) {
    const count = await takeOneBack(move, messages)
    if (count === undefined) isAnyGiven = true
    else back += count
  }
  if (back > 0) messages.tell(0, `${several(back, 'profile')} taken back to ${source}`)
  if (isAnyGiven)
    throw new Failure('not-taken-back', `profiles that ${target} may have can't be taken back to ${source}`)
  if (back > 0) return
  const to = open.map((move) => journalOf(move).plan?.to).find((each) => each !== undefined)
  throw new Failure({ kind: 'no-move', to }, `no interrupted move from ${source} to ${target}`)
}

/** @returns undefined if it is decided that the target gets them */
async function takeOneBack(move: Move, messages: Messages): Promise<number | undefined> {
  for (;;) {
    const journal = journalOf(move)
    if (journal.plan === undefined || journal.fate === 'given') return undefined
    if (journal.fate === 'back') return takeBack(move, journal, messages)
    await append(move, journal, { fate: 'back' })
  }
}
