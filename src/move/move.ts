/**
 * How profiles go from one directory to another: they are planned, claimed, given, and then the move is closed. Each of
 * these steps can be done again by the same command, after a crash or beside the call that began it.
 */
import { sep } from 'node:path'
import { Failure, reasonOf } from '../failure.ts'
import { fullPath } from '../full-path.ts'
import { iccidDigits } from '../profile/iccid.ts'
import { claimAll, comeBack, useAt } from '../store/claim.ts'
import { refuseFailures } from '../store/decision.ts'
import { areOnOneDisk } from '../store/directory-entries.ts'
import { flushDirectory } from '../store/flush/flush.ts'
import { enter, refuseCopy } from '../store/identity.ts'
import { arrive } from '../store/incoming/arrive.ts'
import { checkSpaceForMove } from '../store/incoming/free-space.ts'
import { finishFetches } from '../store/incoming/recover.ts'
import { closeTarget, type OpenTarget, openTarget } from '../store/incoming/target-directory.ts'
import { checkDirectory, readUnused, whyNone } from '../store/listing.ts'
import {
  append,
  beginMove,
  claimedBy,
  closeMove,
  decideFate,
  type Fate,
  goneFrom,
  hasMovesOut,
  isMarked,
  type Journal,
  journalOf,
  type Move,
  noteCame,
  openMoves,
} from '../store/move-journal.ts'
import { fileName, nextName, parseName } from '../store/names.ts'
import { tombstoneText } from '../store/profile-file.ts'
import { FreeList, Queue } from '../store/queue.ts'
import { ReceiptFile } from '../store/receipts/append.ts'
import { type Messages, several } from '../words.ts'
import { checkPlaces, Movables } from './movable.ts'

const UNPLUG = '; the disk can be unplugged'
const EJECT = '; eject the disk before you unplug it'

const TOO_LATE = 'the interruption came too late: the move is complete, and the same command would move more'

/** As long as an id. */
const NO_ID = '-'.repeat(36)

/** How many profiles are claimed or given together. */
const AT_ONCE = 1000

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

/** One call of `move`. */
interface Run extends Order {
  readonly open: OpenTarget
  readonly receipts: ReceiptFile | undefined
  readonly movables: Movables
  /** To be called before a claim. */
  begin(): void
  /** How far it is. */
  readonly tally: { claimed: number; moved: number; most: number }
}

/** What giving needs of a journal. */
interface Known extends Pick<Journal, 'isEarlier' | 'came'> {
  readonly names: readonly string[]
}

/**
 * Moves unused profiles from one directory to another. A move that was interrupted is finished instead.
 * @throws {Failure}
 */
export async function moveProfiles(order: Order): Promise<void> {
  const { source, target, messages } = order
  try {
    // If there is no such directory, this says so.
    checkDirectory(source)
    checkPlaces(source, target)
    await finishFetches(source, messages)
    const open = await openTarget(target).catch((error) => {
      // What `fetch` says of its directory has other advice.
      throw error instanceof Failure ? new Failure('unwritten-target', error.message, error) : error
    })
    try {
      // What interrupted calls have put aside in the target.
      await finishFetches(target, messages).catch((error) => {
        throw notStored(target, error)
      })
      const moves = openMoves(source).filter(({ move }) => isMarked(target, move))
      await moveInto(await runOf(order, open), moves)
    } finally {
      FreeList.drop(target)
      closeTarget(open)
    }
  } catch (error) {
    throw failureOf(error, order)
  }
}

/** What a user is told of an error of a disk. */
function failureOf(error: unknown, { source, target }: Pick<Order, 'source' | 'target'>): Failure {
  if (error instanceof Failure) return error
  const { path } = error as NodeJS.ErrnoException
  const where = [source, target].find((each) => path?.startsWith(each + sep))
  return new Failure(
    'not-recorded',
    `can't move profiles from ${source} to ${target}: ${where === undefined ? '' : `${where}: `}${reasonOf(error)}`,
    error,
  )
}

async function runOf(order: Order, open: OpenTarget): Promise<Run> {
  const { source, count, receipt, progress } = order
  const most = Math.min(count, readUnused(source).iccids.length)
  checkSpaceForMove(open, most, AT_ONCE)
  const receipts =
    receipt === undefined
      ? undefined
      : new ReceiptFile(receipt, source, most, {
          to: { directory: fullPath(order.target) ?? order.target, move: NO_ID, from: NO_ID },
        })
  const tally = { claimed: 0, moved: 0, most }
  progress.follow(() => lineOf(tally))
  const begin = await enter(source, order.messages, receipt)
  return { ...order, open, receipts, tally, begin, movables: new Movables(source, order.target) }
}

function lineOf({ claimed, moved, most }: Run['tally']): string {
  const all = Math.max(most, claimed, moved, 1)
  return `${Math.floor(((claimed + moved) / (2 * all)) * 100)} % (${moved} of ${all} moved, ${claimed} claimed)`
}

/** Finishes what was interrupted, or else begins a move. */
async function moveInto(run: Run, earlier: ReturnType<typeof openMoves>): Promise<void> {
  const { source, target, messages, tally, stop, open } = run
  const given: Move[] = []
  for (const { move, journal } of earlier) {
    const known = { ...journal, names: journal.plan.names }
    if ((await finish(run, move, known, true)) === 'given') given.push(move)
  }
  // What was interrupted may have claimed nothing, or all of it may have left the target again.
  if (tally.moved === 0) {
    given.splice(0).forEach(closeMove)
    const { move, names } = await begin(run)
    if ((await finish(run, move, { names, isEarlier: false, came: new Set() })) === 'back')
      throw tooFew(run, tally.claimed)
    given.push(move)
  }
  const { iccids } = readUnused(source)
  // Windows does not flush directories. It may hold their names back, until the disk is ejected.
  const canFlush = open.canFlush && process.platform !== 'win32'
  const where = open.made.length > 0 ? `${target}, which is new` : target
  const summary = `${several(tally.moved, 'profile')} moved to ${where}; ${iccids.length} unused left in ${source}`
  if (stop.aborted) messages.warn(TOO_LATE)
  messages.tell(0, summary + (areOnOneDisk(source, target) ? '' : canFlush ? UNPLUG : EJECT))
  // Whoever has not read that runs the same command again. Until now, it moves no others.
  given.forEach(closeMove)
}

function notStored(directory: string, error: unknown): Failure {
  let cause = error
  while (cause instanceof Failure) cause = cause.cause
  const facts = { kind: 'unfinished-move', directory } as const
  return new Failure(facts, `can't store profiles in ${directory}: ${reasonOf(cause)}`, cause)
}

/** Writes the first plan: profiles that can be moved, as many as are wanted. */
async function begin(run: Run): Promise<{ move: Move; names: readonly string[] }> {
  const { source, target, count, stop, messages, movables } = run
  const { names, most } = await planned(run, count)
  movables.warnOfKnown(messages)
  if (stop.aborted) throw new Failure('interrupted', 'interrupted; nothing was moved')
  if (names.length === 0) throw tooFew(run, most, movables.left)
  run.begin()
  const move = await beginMove(source, target)
  const to = fullPath(target) ?? target
  // If that fails, another call may have seen it: the mark stays, and does no harm.
  await append(move, { next: 1 }, { to, count: Number.isFinite(count) ? count : null, names })
  return { move, names }
}

/**
 * The names of the next profiles that can be moved: as many as are wanted, or none.
 * @returns also how many there are at most
 */
async function planned(
  { source, messages, stop, movables }: Run,
  count: number,
  known: ReadonlySet<string> = new Set(),
): Promise<{ names: string[]; most: number }> {
  const queue = new Queue(source, messages)
  // The queue repeats itself when it has read the directory.
  const names = new Set<string>()
  const isAll = count === Number.POSITIVE_INFINITY
  const canBeEnough = isAll || queue.has(count)
  while (canBeEnough && names.size < count && !stop.aborted) {
    const some = queue.next(Math.min(count - names.size, AT_ONCE)).map(fileName)
    if (some.length === 0) break
    for (const name of some)
      if (!known.has(name) && !names.has(name) && movables.read(name, messages) !== undefined) names.add(name)
    // A signal is only seen when nothing else is to be done.
    await new Promise((resolve) => setImmediate(resolve))
  }
  const isEnough = !stop.aborted && (isAll ? names.size > 0 : names.size === count)
  if (isEnough) return { names: [...names], most: names.size }
  const most = names.size + (isAll ? 0 : (queue.left ?? 0))
  queue.unreserve()
  return { names: [], most }
}

function tooFew({ source, count }: Run, most: number, left = 0): Failure {
  const { iccids, used } = readUnused(source)
  if (iccids.length === 0)
    return new Failure(whyNone(source, used, hasMovesOut(source)), `no unused profile in ${source}`)
  if (!Number.isFinite(count) || most === 0)
    return new Failure(
      left > 0 ? 'left-target' : 'none-to-move',
      `no unused profile in ${source} can be moved`,
    )
  return new Failure(
    'too-few-to-move',
    `at most ${most} of ${several(count, 'profile')} in ${source} can be moved`,
  )
}

/**
 * @param first what is known of it: another call may close the journal
 * @param isResumed whether an earlier call began it
 * @returns what became of the move
 */
async function finish(run: Run, move: Move, first: Known, isResumed = false): Promise<Fate> {
  const { source, messages, stop } = run
  for (let known = first; ; ) {
    const journal = journalOf(move)
    const { plan, fate } = journal
    if (plan !== undefined) known = { ...journal, names: plan.names }
    // If another call has closed it, that has given all that it knew of. What this one has claimed since is given too.
    if (plan === undefined || fate === 'given') {
      await give(run, move, known, isResumed)
      return 'given'
    }
    if (fate === 'back') {
      await takeBack(move, journal, messages)
      return fate
    }
    run.begin()
    const claimed = await claimPlanned(run, move, plan.names)
    await flushDirectory(source)
    const missing = (plan.count ?? Math.min(1, plan.names.length)) - claimed
    const isShort = missing > 0 && plan.count !== null
    const more = isShort ? (await planned(run, missing, new Set(plan.names))).names : []
    if (stop.aborted) throw interrupted(claimed)
    const end = { fate: missing <= 0 ? 'given' : 'back' } as const
    const entry = more.length > 0 ? { ...plan, names: more } : end
    await append(move, journal, entry)
  }
}

/** @returns how many profiles of the plan are the move's */
async function claimPlanned(run: Run, move: Move, names: readonly string[]): Promise<number> {
  const { source, messages, stop, tally, movables } = run
  const to = fullPath(run.target) ?? run.target
  let claimed = 0
  for (let at = 0; at < names.length; at += AT_ONCE) {
    if (stop.aborted) throw interrupted(claimed)
    const some = names.slice(at, at + AT_ONCE)
    const stored = some.flatMap((name) => movables.read(name, messages, true) ?? [])
    const outcomes = await claimAll(
      source,
      stored.map((each) => tombstoneText(move, to, each)),
    )
    refuseFailures(outcomes)
    const ours = new Set(stored.flatMap(({ name }, at) => (outcomes[at]?.state === 'ours' ? name : [])))
    claimed += some.filter((name) => ours.has(name) || claimedBy(move, name) !== undefined).length
    tally.claimed = claimed
  }
  return claimed
}

const interrupted = (count: number) =>
  new Failure('interrupted-move', `interrupted: ${several(count, 'profile')} in transit`)

/**
 * Not before the claims are durable: the source never has a profile that the target may have. The receipts come first: if
 * this disk dies now, only they say that its backup must not hand the profiles out.
 */
async function give(
  run: Run,
  move: Move,
  { names, isEarlier, came }: Known,
  isResumed: boolean,
): Promise<void> {
  const { source, target, receipts, messages, stop, tally, movables } = run
  await flushDirectory(source)
  const gone = goneFrom(target, move.id)
  for (let at = 0; at < names.length; at += AT_ONCE) {
    if (stop.aborted) throw interrupted(names.length - at)
    const ours = names.slice(at, at + AT_ONCE).flatMap((name) => {
      // A backup may know of a move that was taken back: what has come back since is not given.
      const isBack = isResumed && useAt(source, nextName(name)).state !== 'gone'
      const hasLeft = came.has(name) || gone.has(parseName(name)?.digits ?? '')
      const tombstone = isBack || hasLeft ? undefined : claimedBy(move, name)
      return tombstone === undefined ? [] : [{ name, tombstone }]
    })
    if (isResumed && tally.moved === 0 && ours.length > 0)
      messages.tell(0, `a move to ${target} was interrupted: it is finished, and nothing else is moved`)
    receipts?.append(
      ours.map(({ name, tombstone: { to, profile } }) => ({
        iccid: iccidDigits(profile.iccid) ?? '',
        name,
        to: { directory: to, move: move.id, from: profile.from },
        isAgain: isResumed,
      })),
    )
    const tombstones = ours.map(({ tombstone }) => tombstone)
    try {
      await arrive({ target, id: move.id, isEarlier, comings: movables.comings }, tombstones)
      await flushDirectory(target)
      if (!isMarked(target, move)) throw new Error('another disk is there now')
    } catch (error) {
      throw notStored(target, error)
    }
    tally.moved += ours.length
    messages.tell(1, `${tally.moved} moved`)
  }
}

/**
 * Makes profiles unused again that a move has claimed whose fate is to come back: under their next number.
 * @returns how many came back
 * @throws the system error
 */
async function takeBack(move: Move, journal: Journal, messages: Messages): Promise<number> {
  const names = journal.plan?.names.filter((name) => !journal.came.has(name)) ?? []
  const came: string[] = []
  let count = 0
  for (let at = 0; at < names.length; at += AT_ONCE) {
    const texts = names.slice(at, at + AT_ONCE).flatMap((name) => {
      const tombstone = claimedBy(move, name)
      return tombstone === undefined ? [] : [{ name, stored: JSON.stringify(tombstone.profile) }]
    })
    const outcomes = await comeBack(move.source, texts)
    refuseFailures(outcomes)
    count += outcomes.filter(({ state }) => state === 'ours').length
    for (const { name } of texts) came.push(name)
  }
  await flushDirectory(move.source)
  await noteCame(move, journal, came)
  // Other calls may have passed them.
  if (count > 0) FreeList.drop(move.source)
  messages.tell(1, `${several(count, 'profile')} taken back`)
  return count
}

/**
 * Takes home what an interrupted move has claimed and not begun to give. The target may be away.
 * @throws {Failure} `copy`, `no-move` if there is nothing, `not-taken-back` if the target may have some of it
 */
export async function takeHome(wanted: Pick<Order, 'source' | 'target' | 'messages'>): Promise<void> {
  const { source, target, messages } = wanted
  try {
    // If there is no such directory, this says so.
    checkDirectory(source)
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
