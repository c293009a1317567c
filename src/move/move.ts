import { Failure } from '../failure.ts'
import { Hint } from '../store/hint.ts'
import { checkSpaceForMove } from '../store/incoming/free-space.ts'
import { finishFetches } from '../store/incoming/recover.ts'
import { closeTarget, openTarget } from '../store/incoming/target.ts'
import { takeBack } from '../store/move/claim.ts'
import { dropDraft, listDrafts } from '../store/move/drafts.ts'
import {
  beginMove,
  decideMove,
  draftsOf,
  endMove,
  isMarked,
  type Move,
  openMoves,
  unmark,
  whoseIs,
} from '../store/move/journal.ts'
import { areOnOneDisk } from '../store/move/places.ts'
import { readUnused } from '../store/read.ts'
import { Receipt } from '../store/receipt.ts'
import { type Messages, several } from '../words.ts'
import { checkPlaces } from './check-places.ts'
import { claimAll } from './claim-all.ts'
import { AT_ONCE, give, storePutAside } from './give.ts'
import { failureOf, type Run, type Tally } from './run.ts'

const UNPLUG = '; the disk can be unplugged'
const EJECT = '; eject the disk before you unplug it'

const TOO_LATE = 'the interruption came too late: the move is complete, and the same command would move more'

export interface Order {
  readonly source: string
  readonly target: string
  /** Infinite if all unused profiles are to be moved. */
  readonly count: number
  /** The file that receives a line for each profile. */
  readonly receipt: string | undefined
  readonly stop: AbortSignal
  readonly messages: Messages
  readonly progress: { follow(line: () => string): void }
}

/**
 * Moves unused profiles from one directory to another. A move that was interrupted is finished first, and counts.
 * @throws {Failure}
 */
export async function moveProfiles(order: Order): Promise<void> {
  const { source, target, messages } = order
  try {
    // If there is no such directory, this says so.
    readUnused(source)
    checkPlaces(source, target)
    await finishFetches(source, messages)
    const { given, moved, canFlush } = await moveInto(order)
    const { iccids } = readUnused(source)
    const summary = `${several(moved, 'profile')} moved to ${target}; ${iccids.length} unused left in ${source}`
    if (order.stop.aborted) messages.warn(TOO_LATE)
    messages.tell(0, summary + (areOnOneDisk(source, target) ? '' : canFlush ? UNPLUG : EJECT))
    // Whoever has not read that runs the same command again. Until now, it moves no others.
    for (const [move, drafts] of given) {
      drafts.forEach(dropDraft)
      endMove(move)
    }
  } catch (error) {
    throw failureOf(error, order)
  }
}

function lineOf({ claimed, moved }: Tally, most: number): string {
  const all = Math.max(most, claimed, moved, 1)
  return `${Math.floor(((claimed + moved) / (2 * all)) * 100)} % (${moved} of ${all} moved, ${claimed} claimed)`
}

interface Given {
  readonly given: Run['given']
  /** How many profiles the target got. */
  readonly moved: number
  /** Whether it has them after a power cut. */
  readonly canFlush: boolean
}

async function moveInto({ source, target: to, count, ...order }: Order): Promise<Given> {
  const { messages, progress, stop } = order
  const target = await open(to)
  try {
    await storePutAside(target, messages)
    const most = Math.min(count, readUnused(source).iccids.length)
    // What is decided may be there already, and is not given up.
    const decided = openMoves(source).filter((move) => isMarked(to, move) && whoseIs(move) === 'target')
    const begun = decided.reduce((sum, move) => sum + draftsOf(move).length, 0)
    checkSpaceForMove(target, Math.min(most, count - begun), AT_ONCE)
    const receipt = order.receipt === undefined ? undefined : new Receipt(order.receipt, source, most)
    const tally = { claimed: 0, moved: 0, left: 0 }
    progress.follow(() => lineOf(tally, most))
    const run: Run = { source, target, receipt, stop, messages, tally, given: new Map() }
    for (const move of openMoves(source)) await finishEarlier(run, move, count)
    let goesOn = tally.moved < count
    while (goesOn) goesOn = (await finish(run, beginMove(source, to), count)) && tally.moved < count
    if (tally.moved === 0) {
      const kind = tally.left > 0 ? 'left-target' : 'none-to-move'
      throw new Failure(kind, `no unused profile in ${source} can be moved`)
    }
    // Windows does not flush directories. It may hold their names back, until the disk is ejected.
    const canFlush = target.canFlush && process.platform !== 'win32'
    return { given: run.given, moved: tally.moved, canFlush }
  } finally {
    // The last flush of the target comes after both.
    Hint.drop(to)
    closeTarget(target)
  }
}

/** What `fetch` says of its directory has other advice. */
async function open(target: string) {
  try {
    return await openTarget(target)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new Failure('unwritten-target', error.message, error)
  }
}

/** Finishes a move that was interrupted, if it is one to this target, or was taken back. */
async function finishEarlier(run: Run, move: Move, count: number): Promise<void> {
  const isTakenBack = whoseIs(move) === 'source'
  if (!isTakenBack && !isMarked(run.target.directory, move)) return
  const begun = new Set(listDrafts(move).map(({ name }) => name)).size
  if (!isTakenBack)
    run.messages.tell(0, `a move of ${several(begun, 'profile')} is not finished: it comes first, and counts`)
  await finish(run, move, count)
}

/**
 * @param count how many profiles the call is to move in all
 * @returns false if there are no more
 */
async function finish(run: Run, move: Move, count: number): Promise<boolean> {
  const { tally, target, messages } = run
  const isNew = whoseIs(move) === undefined
  if (isNew && !(await claimAll(run, move, count - tally.moved))) return false
  if (decideMove(move, 'target')) run.given.set(move, await give(run, move))
  else {
    takeBack(move, messages)
    unmark(target.directory, move)
    if (isNew) throw takenBack()
  }
  return true
}

const takenBack = () => new Failure('taken-back', 'another call has taken this move back')
