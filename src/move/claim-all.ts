import { errnoOf, Failure } from '../failure.ts'
import { fullPath } from '../full-path.ts'
import { claimDrafts, takeBack } from '../store/move/claim.ts'
import { flushDrafts, type ProfileDraft, readDrafts, writeDrafts } from '../store/move/drafts.ts'
import { type Move, unmark, whoseIs } from '../store/move/journal.ts'
import { Movables } from '../store/move/movable.ts'
import { fileName } from '../store/names.ts'
import { Queue } from '../store/queue.ts'
import { several } from '../words.ts'
import type { Run } from './run.ts'

/** Profiles whose drafts are written and flushed together. */
const AT_ONCE = 64

/**
 * Claims so many profiles for a move: all of them or none. Those that a killed call has claimed count.
 * @param count infinite if all unused profiles are to be claimed
 * @returns false if there are none, and all of them are wanted
 * @throws {Failure} `no-profiles` or `interrupted`; in both cases, all profiles of the move are unused again
 */
export async function claimAll(run: Run, move: Move, count: number): Promise<boolean> {
  const { source, target, messages, stop, tally } = run
  const to = fullPath(target.directory) ?? target.directory
  const queue = new Queue(source, messages)
  const movables = new Movables(source, target)
  const before = tally.claimed
  const claimed = new Set<string>()
  const claim = (drafts: readonly ProfileDraft[]) => {
    const ours = claimDrafts(move, drafts, messages)
    for (const name of ours) claimed.add(name)
    tally.claimed = before + claimed.size
    queue.noteGone(ours.size < drafts.length)
  }
  const isAll = count === Number.POSITIVE_INFINITY
  let canBeEnough = true
  try {
    const known = readDrafts(move)
    if (known.length > 0) await flushDrafts(move, known)
    claim(known)
    canBeEnough = isAll || queue.has(count - claimed.size)
    while (canBeEnough && claimed.size < count && whoseIs(move) === undefined && !stop.aborted) {
      const iccids = queue.next(Math.min(count - claimed.size, AT_ONCE))
      if (iccids.length === 0) break
      claim(await writeDrafts(move, to, movables.read(iccids.map(fileName), messages)))
    }
  } catch (error) {
    // Another call has found the move without a whole draft, and has ended it.
    if (errnoOf(error) === 'ENOENT') return true
    throw error
  }
  tally.left += movables.warnOfKnown(messages)
  const isEnough = isAll ? claimed.size > 0 : claimed.size >= count
  if (whoseIs(move) !== undefined || (isEnough && !stop.aborted)) return true
  const most = claimed.size + (canBeEnough ? 0 : (queue.left ?? 0))
  queue.giveBack()
  takeBack(move, messages)
  unmark(target.directory, move)
  if (stop.aborted) {
    throw new Failure('interrupted', 'interrupted; nothing was moved')
  }
  if (isAll) return false
  const whyNone = tally.left > 0 ? 'left-target' : 'none-to-move'
  throw new Failure(
    most === 0 ? whyNone : 'too-few-to-move',
    `at most ${most} of ${several(count, 'profile')} in ${source} can be moved`,
  )
}
