import { closeSync, lstatSync, mkdirSync, openSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join, normalize, parse } from 'node:path'
import { errnoOf, Failure, reasonOf } from '../../failure.ts'
import { fileRights, rightsOf, tryToRemove } from '../directory-entries.ts'
import { FileSystemFlush } from '../flush/file-system.ts'
import { fillFlushed, flushDirectory, flushDirectorySync } from '../flush/flush.ts'
import { introduce } from '../identity.ts'
import { patiently } from '../patience.ts'
import { hasFillers } from '../read.ts'
import { FETCH_MARK, INCOMING, incomingPath, newAnswerName } from './answers.ts'

export interface Target {
  /** As `join` begins its paths. */
  readonly directory: string
  /** Of what is made in it. */
  readonly rights: number
  /** Whether any name in it has a filler. If none has, there is one way only to spell an ICCID. */
  hasFillers?: boolean
  readonly fileSystem?: FileSystemFlush
  /** Whether the file system has hard links. Decided once, with the first answer. */
  hasLinks?: boolean
}

export interface OpenTarget extends Target {
  /** The directories that were made for it, the deepest first. */
  readonly made: readonly string[]
  /** Without directory flushes, a power cut may undo what is stored. */
  readonly canFlush: boolean
}

/** @throws the system error of stat(2) */
export function targetOf(path: string): Target {
  const directory = normalize(path)
  return { directory, rights: rightsOf(directory) }
}

/**
 * Makes a directory unless it is there, and checks that files can be put aside in it, before profiles are paid for.
 * @throws {Failure} `unwritten-directory`
 */
export async function openTarget(path: string): Promise<OpenTarget> {
  try {
    const made = await makeDirectory(normalize(path))
    const target = targetOf(path)
    const { directory } = target
    const probe = newAnswerName() + FETCH_MARK
    closeSync(createIncoming(target, probe))
    tryToRemove(incomingPath(directory, probe))
    // Also if another call made the place for answers: it may have been killed before this flush.
    const canFlush = await flushDirectory(directory)
    const fileSystem = new FileSystemFlush(directory)
    return { ...target, made, canFlush, fileSystem, hasFillers: hasFillers(directory) }
  } catch (error) {
    const facts = { kind: 'unwritten-directory', directory: path } as const
    throw new Failure(facts, `can't write to the directory ${path}: ${reasonOf(error)}`, error)
  }
}

/**
 * Node's recursive mkdir reports a misleading reason when it fails.
 * @returns the directories that were made, the deepest first
 * @throws {Error} with the reason
 */
export async function makeDirectory(path: string): Promise<string[]> {
  const above = dirname(path)
  const made = above !== path && !isDirectory(above) ? await makeDirectory(above) : []
  try {
    mkdirSync(path, { mode: 0o700 })
    made.unshift(path)
  } catch (error) {
    if (!isDirectory(path)) throw whyNone(path, error)
  }
  // Also if it already exists: the call that made it may have been killed before this flush.
  for (const place of [above, dirname(above)]) await flushDirectory(place).catch(() => {})
  return made
}

/** Directories that were made for nothing go again; one that stays learns who it is. */
export function closeTarget({ directory, made }: OpenTarget): void {
  if (!made.includes(directory)) return
  try {
    rmdirSync(join(directory, INCOMING))
    for (const each of made) rmdirSync(each)
  } catch {
    introduce(directory)
  }
}

export const isDirectory = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

function whyNone(path: string, error: unknown): unknown {
  // Windows reports the same error for every path on a missing drive or share.
  if (parse(path).root === path) return new Error(`drive or share ${path} does not exist`)
  const status = lstatSync(path, { throwIfNoEntry: false })
  if (status === undefined) return error
  return new Error(`${path} ${status.isSymbolicLink() ? 'is a broken link' : 'is not a directory'}`)
}

/**
 * Creates a file among the answers.
 * @returns the open file
 * @throws the system error, EEXIST if there is one
 */
export function createIncoming({ directory, rights }: Target, name: string): number {
  makePlace(directory, rights)
  return patiently(() => openSync(incomingPath(directory, name), 'wx', fileRights(rights)))
}

/**
 * Makes a directory among the answers, unless it is there.
 * @throws the system error
 */
export function makeIncoming({ directory, rights }: Target, name: string): void {
  makePlace(directory, rights)
  makeOne(incomingPath(directory, name), rights)
}

/** Writes a new file there and flushes it. Its name is durable once the directory of answers is flushed. */
export const writeIncoming = async (target: Target, name: string, contents: string | Uint8Array) =>
  fillFlushed(createIncoming(target, name), contents)

/** A link would lead out of the directory. */
function makePlace(directory: string, rights: number): void {
  const place = join(directory, INCOMING)
  if (makeOne(place, rights)) flushDirectorySync(directory)
  if (!lstatSync(place).isDirectory()) throw new Error(`${place} is not a directory`)
}

/** @returns false if it is there */
function makeOne(path: string, rights: number): boolean {
  try {
    patiently(() => mkdirSync(path, { mode: rights }))
    return true
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST' && !isDirectory(path)) throw error
    return false
  }
}
