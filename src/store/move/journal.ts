/**
 * What a move is, in both of its directories. In the source, `.moves/<id>/` has a draft of the tombstone of each profile
 * until the target has that profile. `.moves/<id>.whose` decides, once, whose all of them are: a file stands for the
 * target, a directory for the source. In the target, `.moves/<id>.from` is the mark by which a repeated call knows it: a
 * path may lead to another disk today.
 */
import { randomUUID } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { errnoOf } from '../../failure.ts'
import { decideOnce } from '../claim/take-over.ts'
import { flushDirectorySync } from '../flush/directory.ts'
import { flushPathSync, writeNewSync } from '../flush/files.ts'
import { tryToRemove } from '../remove.ts'
import { fileRights, rightsOf } from '../rights.ts'
import { sameDirectory } from './places.ts'

const MOVES = '.moves'
const WHOSE = '.whose'
const MARK = '.from'
const MARK_TRIES = 5
const ID = /^[0-9a-f-]{36}$/

export interface Move {
  readonly id: string
  /** The directory that the profiles come from. */
  readonly source: string
}

export type Side = 'source' | 'target'

/** The directory of the drafts. */
export const draftsPath = ({ id, source }: Move) => join(source, MOVES, id)

const markPath = (target: string, id: string) => join(target, MOVES, id + MARK)

/** @throws the system error */
export const isMarked = (target: string, { id }: Move): boolean =>
  lstatSync(markPath(target, id), { throwIfNoEntry: false }) !== undefined

/**
 * Begins a move: marks the target, then the source.
 * @throws {Failure} `usage` if both are the same directory
 * @throws the system error
 */
export function beginMove(source: string, target: string): Move {
  const move = { id: randomUUID(), source }
  const mark = markPath(target, move.id)
  createMark(
    target,
    mark,
    JSON.stringify({ from: source, station: hostname(), time: new Date().toISOString() }),
  )
  // Whatever the two paths are: through two mounts, one directory has two numbers.
  if (isMarked(source, move)) {
    unmark(target, move)
    throw sameDirectory(source, target)
  }
  flushPathSync(mark)
  flushDirectorySync(join(target, MOVES))
  makeFlushed(source, MOVES)
  makeFlushed(source, join(MOVES, move.id))
  return move
}

/** Another call may remove the place of the marks while it is empty. */
function createMark(target: string, mark: string, text: string, tries = MARK_TRIES): void {
  makeFlushed(target, MOVES)
  try {
    writeNewSync(mark, text, fileRights(rightsOf(target)))
  } catch (error) {
    if (tries <= 1 || errnoOf(error) !== 'ENOENT') throw error
    createMark(target, mark, text, tries - 1)
  }
}

/**
 * The moves into a directory.
 * @throws the system error
 */
export const movesInto = (target: string): Set<string> =>
  new Set(
    namesIn(join(target, MOVES)).flatMap((name) => (name.endsWith(MARK) ? name.slice(0, -MARK.length) : [])),
  )

/** After that, the target does not know the move. */
export function unmark(target: string, { id }: Move): void {
  tryToRemove(markPath(target, id))
  try {
    rmdirSync(join(target, MOVES))
  } catch {}
}

/**
 * Moves out of a directory that are not finished: the drafts of some of their profiles are there.
 * @throws the system error
 */
export function openMoves(source: string): Move[] {
  return namesIn(join(source, MOVES))
    .filter((name) => ID.test(name))
    .sort()
    .map((id) => ({ id, source }))
    .filter((move) => namesIn(draftsPath(move)).length > 0)
}

/**
 * Whether a move out of a directory was ever begun.
 * @throws the system error
 */
export const hasMovesOut = (directory: string) =>
  namesIn(join(directory, MOVES)).some((name) => !name.endsWith(MARK))

/** The names of the drafts, sorted. */
export const draftsOf = (move: Move) => namesIn(draftsPath(move)).sort()

/** Ends a move that has no drafts any more. */
export function endMove(move: Move): void {
  try {
    rmdirSync(draftsPath(move))
  } catch {}
}

/**
 * Whose the profiles of a move are; undefined while that is not decided.
 * @throws the system error
 */
export function whoseIs({ id, source }: Move): Side | undefined {
  const decided = lstatSync(join(source, MOVES, id + WHOSE), { throwIfNoEntry: false })
  return decided && (decided.isDirectory() ? 'source' : 'target')
}

/**
 * Decides, once and durably, whose the profiles of a move are.
 * @returns whether it is decided this way
 * @throws the system error
 */
export function decideMove({ id, source }: Move, whose: Side): boolean {
  const place = join(source, MOVES)
  const isSo = decideOnce(join(place, id + WHOSE), whose === 'target', rightsOf(source))
  // Also if another call decided it: it may have been killed before this flush.
  flushDirectorySync(place)
  return isSo
}

function makeFlushed(directory: string, name: string): void {
  try {
    mkdirSync(join(directory, name), { mode: rightsOf(directory) })
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
  }
  flushDirectorySync(join(directory, name, '..'))
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return []
    throw error
  }
}
