/**
 * What a move is, in both of its directories. Its journal, `.moves/<id>/` in the source, is a chain of entries, each
 * created once: first a plan, the profiles to be claimed; another plan if somebody else got some of them; in the end
 * whether they are given or come back. In the target, `.moves/<id>.from` is the mark by which a repeated call knows the
 * move: a path may lead to another disk today. A move that is given has no journal any more.
 */
import { randomUUID } from 'node:crypto'
import { lstatSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { readDecided, useAt } from './claim.ts'
import { createAll, refuseFailures, settle } from './decision.ts'
import {
  exists,
  fileRights,
  makeThere,
  namesIn,
  readIfThere,
  rightsOf,
  sameDirectory,
  tryToRemove,
} from './directory-entries.ts'
import { flushDirectoryIfThere, flushDirectorySync, writeFlushed } from './flush/flush.ts'
import { looking, namesOf } from './listing.ts'
import { keyOfName, MOVES, nextName, parseName, USED, usedName } from './names.ts'
import { attempt, patiently } from './patience.ts'
import { byUs, fieldsOf, readProfile, type Tombstone, textOf, tombstoneIn } from './profile-file.ts'

const MARK = '.from'
const ID = /^[0-9a-f-]{36}$/
const CLOSED = '~'

export interface Move {
  readonly id: string
  /** The directory that the profiles come from. */
  readonly source: string
}

/** The names of the unused files to be claimed, and how many of them must be; `null` stands for any number. */
export interface Plan {
  readonly to: string
  readonly count: number | null
  readonly names: readonly string[]
}

export type Fate = 'given' | 'back'

export interface Journal {
  /** Undefined if the journal is gone: then all is given. */
  readonly plan: Plan | undefined
  readonly fate: Fate | undefined
  /** The number of the next entry. */
  readonly next: number
  /** What came back, and does not again: somebody may have carried it away. Also what the target has handed out. */
  readonly came: ReadonlySet<string>
  /** Whether version 1.1 began it: the target does not say what came by it. */
  readonly isEarlier: boolean
}

const placeOfMove = ({ id, source }: Move) => join(source, MOVES, id)

const markPath = (target: string, id: string) => join(target, MOVES, id + MARK)

/** @throws the system error */
export const isMarked = (target: string, { id }: Pick<Move, 'id'>): boolean => exists(markPath(target, id))

/**
 * The moves into a directory.
 * @throws the system error
 */
export const movesInto = (target: string): Set<string> =>
  new Set(
    namesIn(join(target, MOVES)).flatMap((name) => (name.endsWith(MARK) ? name.slice(0, -MARK.length) : [])),
  )

/**
 * Whether a move out of a directory was ever begun.
 * @throws the system error
 */
export const hasMovesOut = (directory: string) =>
  namesIn(join(directory, MOVES)).some((name) => !name.endsWith(MARK))

/**
 * Begins a move: marks the target, then makes the journal.
 * @throws {Failure} `same-directory`
 * @throws the system error
 */
export async function beginMove(source: string, target: string): Promise<Move> {
  const move = { id: randomUUID(), source }
  const mark = markPath(target, move.id)
  makeThere(target, MOVES)
  const text = Buffer.from(JSON.stringify({ from: source, ...byUs() }))
  await writeFlushed(mark, text, fileRights(rightsOf(target)))
  // Whatever the two paths are: through two mounts, one directory has two numbers.
  if (isMarked(source, move)) {
    tryToRemove(mark)
    throw sameDirectory(source, target)
  }
  flushDirectorySync(join(target, MOVES))
  makeThere(source, MOVES)
  makeThere(source, join(MOVES, move.id))
  return move
}

/**
 * Moves out of a directory that are not given yet, or that were taken back: whoever was paused meanwhile may still claim
 * a profile for one.
 * @throws the system error
 */
export function openMoves(
  source: string,
): { readonly move: Move; readonly journal: Journal & { readonly plan: Plan } }[] {
  const ids = namesIn(join(source, MOVES)).filter((name) => ID.test(name))
  return ids.sort().flatMap((id) => {
    const move = { id, source }
    const journal = journalOf(move)
    const { plan } = journal
    return plan === undefined ? [] : { move, journal: { ...journal, plan } }
  })
}

/** @throws the system error */
export function journalOf(move: Move): Journal {
  const entries = earlierEntries(move.source, move.id)
  const isEarlier = entries.length > 0
  let next = 1
  for (; ; next++) {
    const text = readDecided(move.source, entryKey(move, next), Number.POSITIVE_INFINITY)
    if (text === undefined) break
    entries.push(fieldsOf(text))
  }
  const plans = entries.filter((each) => Array.isArray(each['names']))
  const fate = entries.find((each) => each['fate'] === 'given' || each['fate'] === 'back')?.['fate'] as
    | Fate
    | undefined
  const [first] = plans
  const plan = first && {
    to: String(first['to']),
    count: typeof first['count'] === 'number' ? first['count'] : null,
    names: [...new Set(plans.flatMap((each) => each['names'] as string[]))].filter((name) => parseName(name)),
  }
  const came = new Set(
    entries.flatMap((each) => (Array.isArray(each['came']) ? (each['came'] as string[]) : [])),
  )
  return { plan, fate, next, came, isEarlier }
}

const entryKey = ({ id }: Move, number: number) => `${id}.${number}`

/**
 * Appends an entry to a journal, unless another call has appended one.
 * @throws the system error
 */
export async function append(
  move: Move,
  { next }: Pick<Journal, 'next'>,
  entry: Plan | { readonly fate: Fate } | { readonly came: readonly string[] },
): Promise<void> {
  const text = JSON.stringify({
    ...entry,
    ...byUs(),
    entry: randomUUID(),
  })
  refuseFailures(await createAll(move.source, [{ key: entryKey(move, next), text }]))
  flushDirectoryIfThere(placeOfMove(move))
}

/**
 * Decides whose the profiles of a move are, unless that is decided.
 * @returns its journal then
 * @throws the system error
 */
export async function decideFate(move: Move, fate: Fate): Promise<Journal> {
  for (;;) {
    const journal = journalOf(move)
    if (journal.plan === undefined || journal.fate !== undefined) return journal
    await append(move, journal, { fate })
  }
}

/** Closes the journal of a move whose profiles the target has, in one step. */
export function closeMove(move: Move): void {
  const closed = join(move.source, MOVES, CLOSED + move.id)
  try {
    patiently(() => renameSync(placeOfMove(move), closed))
  } catch (error) {
    // Whoever is told that a closed move failed runs the same command again, and that moves more.
    if (attempt(() => exists(placeOfMove(move))) === true) throw error
  }
  // The empty directory stays: it says that profiles were moved.
  attempt(() => {
    flushDirectorySync(join(move.source, MOVES))
    for (const name of namesIn(closed)) tryToRemove(join(closed, name))
  })
}

/**
 * Notes that a move has given its profiles, in a directory that has forgotten that.
 * @param came what the target has handed out since: it is not given again to a target from a backup
 * @throws the system error
 */
export async function noteGiven(move: Move, came: readonly string[]): Promise<void> {
  const journal = await decideFate(move, 'given')
  if (journal.fate !== undefined) return noteCame(move, journal, came)
  makeThere(move.source, MOVES)
  makeThere(move.source, join(MOVES, CLOSED + move.id))
}

/**
 * Notes what came, unless the journal says so.
 * @throws the system error
 */
export async function noteCame(move: Move, journal: Journal, came: readonly string[]): Promise<void> {
  // Another call may append something else first.
  for (let now = journal; came.some((name) => !now.came.has(name)); now = journalOf(move))
    await append(move, now, { came })
}

/**
 * The tombstone of a profile, if this or another call of the move has claimed it, or was about to when it was killed.
 * @param name of the unused file
 * @throws {UnusableProfile} if the used file can't be read: then nobody knows
 * @throws the system error
 */
export function claimedBy({ id, source }: Move, name: string): Tombstone | undefined {
  const ours = (text = '') => {
    const tombstone = tombstoneIn(text)
    return tombstone?.move === id ? tombstone : undefined
  }
  const found = ours(readProfile(source, usedName(name)))
  if (found !== undefined) return found
  // A power cut may have torn the used file of a claim that nobody has finished.
  const use = useAt(source, name)
  // Another call has just finished it.
  if (use.state === 'used') return ours(use.text)
  if (use.state !== 'claimed' || ours(use.text) === undefined) return undefined
  settle(source, keyOfName(name))
  return ours(readProfile(source, usedName(name)))
}

/**
 * The ICCIDs of what came by a move and has left again, as the mark of the move says.
 * @throws the system error
 */
export function goneFrom(target: string, id: string): Set<string> {
  const { gone } = fieldsOf(readIfThere(markPath(target, id)) ?? '')
  return new Set(Array.isArray(gone) ? gone : [])
}

/**
 * Notes in the mark of a move what came by it and has left again, for a target from a backup that does not know it: a call
 * that finishes the move does not give that once more.
 * @throws the system error
 */
export async function noteGone(target: string, id: string, iccids: Iterable<string>): Promise<void> {
  const gone = goneFrom(target, id).union(new Set(iccids))
  const mark = markPath(target, id)
  const draft = join(target, MOVES, CLOSED + randomUUID() + MARK)
  const text = JSON.stringify({ ...fieldsOf(readIfThere(mark) ?? ''), gone: [...gone] })
  await writeFlushed(draft, Buffer.from(text), fileRights(rightsOf(target)))
  patiently(() => renameSync(draft, mark))
  flushDirectorySync(join(target, MOVES))
}

/** What has left a directory, or is about to. */
export interface Moved {
  /** The ICCIDs of profiles that other directories have, without fillers. */
  readonly moved: readonly string[]
  /** The names of the unused files of profiles that an interrupted move has claimed, each with where it goes. */
  readonly inTransit: ReadonlyMap<string, string>
  /** Where interrupted moves go, also if they have claimed nothing yet. */
  readonly unfinished: readonly string[]
}

/**
 * Reads all used files of a directory that profiles were moved out of: only they say who has a profile.
 * @throws {Failure} `not-a-directory` or `unread-directory` if its journals can't be read
 */
export const countMoved = (directory: string): Moved =>
  looking(join(directory, MOVES), () => {
    const inTransit = new Map<string, string>()
    const moved: string[] = []
    if (!hasMovesOut(directory)) return { moved, inTransit, unfinished: [] }
    const open = openMoves(directory).filter(({ journal }) => journal.fate !== 'back')
    const fateOf = fatesIn(directory)
    for (const used of namesOf(directory)) {
      const { digits, isUsed } = parseName(used) ?? {}
      const tombstone = isUsed ? tombstoneIn(textOf(directory, used)) : undefined
      if (digits === undefined || tombstone === undefined) continue
      const fate = fateOf(used, tombstone)
      if (fate === 'in transit') inTransit.set(used.slice(USED.length), tombstone.to)
      else if (fate === 'moved') moved.push(digits)
    }
    return { moved, inTransit, unfinished: open.map(({ journal }) => journal.plan.to) }
  })

/**
 * Reads the journals of a directory once.
 * @returns what became of the profile of a tombstone: undefined if it came back
 * @throws the system error
 */
export function fatesIn(directory: string) {
  const open = new Set(openMoves(directory).map(({ move }) => move.id))
  return (used: string, { move }: Tombstone): 'moved' | 'in transit' | undefined => {
    if (useAt(directory, nextName(used)).state !== 'gone') return undefined
    return open.has(move) ? 'in transit' : 'moved'
  }
}

/**
 * The journal of a move of version 1.1: the drafts of its tombstones, and a file or a directory that says whose its
 * profiles are, the target's or the source's.
 */
function earlierEntries(directory: string, id: string): Record<string, unknown>[] {
  const place = join(directory, MOVES, id)
  const drafts = namesIn(place).filter((name) => name.includes('~'))
  if (drafts.length === 0) return []
  const names = [...new Set(drafts.map((name) => name.split('~')[0]))]
  const to = drafts.map((name) => tombstoneIn(textOf(place, name))?.to).find((each) => each !== undefined)
  const decided = lstatSync(join(directory, MOVES, `${id}.whose`), { throwIfNoEntry: false })
  const fate = decided && { fate: decided.isDirectory() ? 'back' : 'given' }
  return [{ to, count: null, names }, ...(fate === undefined ? [] : [fate])]
}
