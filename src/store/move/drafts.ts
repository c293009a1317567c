import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fieldsOf, tombstoneIn, useOf } from '../claim/use.ts'
import type { Draft } from '../devices/draft.ts'
import { textOf } from '../devices/history.ts'
import { flushDirectory, flushDirectorySync } from '../flush/directory.ts'
import { flushFiles, flushPathSync, flushUnlessGone, writeNewSync } from '../flush/files.ts'
import { usedName } from '../names.ts'
import { patiently } from '../patience.ts'
import { removeIfThere } from '../remove.ts'
import { fileRights, rightsOf } from '../rights.ts'
import { draftsOf, draftsPath, type Move } from './journal.ts'

/** The draft of a tombstone. Several calls of one move may have one each of the same profile. */
export interface ListedDraft {
  /** The name of the unused file. */
  readonly name: string
  readonly path: string
}

export interface ProfileDraft extends ListedDraft, Draft {}

/** What is about to be claimed. */
export interface Movable {
  readonly name: string
  /** The text of the unused file. */
  readonly stored: string
}

/**
 * Writes drafts and flushes them.
 * @throws the system error
 */
export async function writeDrafts(move: Move, to: string, profiles: readonly Movable[]) {
  const place = draftsPath(move)
  const rights = fileRights(rightsOf(move.source))
  const drafts = profiles.map(({ name, stored }): ProfileDraft => {
    const path = join(place, `${name}~${randomUUID()}`)
    const [station, time] = [hostname(), new Date().toISOString()]
    const text = JSON.stringify({ move: move.id, to, station, time, moved: fieldsOf(stored) })
    writeNewSync(path, text, rights)
    return { name, path, text, rights }
  })
  await flushDrafts(move, drafts)
  return drafts
}

/**
 * Flushes drafts. Before that, nobody may claim their profiles: a tombstone without a draft would belong to a move that
 * does not know it.
 * @throws the system error
 */
export async function flushDrafts(move: Move, drafts: readonly ProfileDraft[]): Promise<void> {
  await flushFiles(
    drafts.map(({ path }) => path),
    flushUnlessGone,
  )
  await flushDirectory(draftsPath(move))
}

/**
 * Reads the drafts of a move, whoever wrote them.
 * @throws the system error
 */
export function readDrafts(move: Move): ProfileDraft[] {
  const rights = fileRights(rightsOf(move.source))
  return listDrafts(move).map((each) => ({ ...each, text: readDraft(each), rights }))
}

const readDraft = ({ path }: ListedDraft) => textOf(dirname(path), basename(path))

/**
 * The same without their texts, which of many would take much memory.
 * @throws the system error
 */
export const listDrafts = (move: Move): ListedDraft[] =>
  draftsOf(move).map((each) => ({ name: each.split('~')[0] ?? '', path: join(draftsPath(move), each) }))

/**
 * Makes sure that a profile is given to the target: whoever claimed it may have been killed when another call had ended
 * the move.
 * @throws the system error
 */
export function keepDraft(move: Move, name: string): void {
  if (draftsOf(move).some((each) => each.startsWith(`${name}~`))) return
  const place = draftsPath(move)
  mkdirSync(place, { recursive: true, mode: rightsOf(move.source) })
  const path = join(place, `${name}~${randomUUID()}`)
  writeNewSync(path, textOf(move.source, usedName(name)), fileRights(rightsOf(move.source)))
  flushPathSync(path)
  flushDirectorySync(place)
}

/** Where the profiles of a move go; undefined if no draft is whole. */
export function targetOfMove(move: Move): string | undefined {
  for (const draft of listDrafts(move)) {
    const to = tombstoneIn(readDraft(draft))?.to
    if (to !== undefined) return to
  }
  return undefined
}

/** What the names of the profile of a draft say, and whether it is the move's. */
export function useFor(move: Move, { name }: Pick<ListedDraft, 'name'>) {
  const use = useOf(move.source, name)
  return { use, isOurs: use.state === 'moved' && use.tombstone.move === move.id }
}

/**
 * Removes a draft. Until then, the profile of its tombstone is in transit.
 * @throws the system error
 */
export const dropDraft = ({ path }: ListedDraft) => patiently(() => removeIfThere(path))
