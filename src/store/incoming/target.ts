import { closeSync, lstatSync, mkdirSync, openSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join, parse } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errnoOf, Failure, reasonOf } from '../../failure.ts'
import { flushDirectory, flushDirectorySync } from '../flush/directory.ts'
import { FileSystemFlush } from '../flush/file-system.ts'
import { fillFlushed } from '../flush/files.ts'
import { introduce } from '../identity.ts'
import { patiently } from '../patience.ts'
import { hasFillers } from '../read.ts'
import { tryToRemove } from '../remove.ts'
import { fileRights, rightsOf } from '../rights.ts'
import { FETCH_MARK, INCOMING, incomingPath, newAnswerName } from './answers.ts'

/** A fetch removes the empty directory when it ends, and a starting fetch makes it again. */
const TRIES = 30
const PAUSE_MS = 1000

export interface Target {
  readonly directory: string
  /** Of what is made in it. */
  readonly rights: number
  readonly mark?: string
  readonly made?: readonly string[]
  /** Whether any name in it has a filler. If none has, there is one way only to spell an ICCID. */
  hasFillers?: boolean
  readonly fileSystem?: FileSystemFlush
  /** Whether the file system has hard links. Decided once, with the first answer. */
  hasLinks?: boolean
}

export interface OpenTarget extends Target {
  readonly mark: string
  /** The directories that were made for it, the deepest first. */
  readonly made: readonly string[]
  /** Without directory flushes, a power cut may undo what is stored. */
  readonly canFlush: boolean
}

/** @throws the system error */
export function targetOf(directory: string): Target {
  return { directory, rights: rightsOf(directory) }
}

/**
 * Checks that files can be put aside, before profiles are paid for. A mark stays until `closeTarget`, so that no
 * other fetch removes the place.
 * @throws {Failure} `disk`
 */
export async function openTarget(directory: string): Promise<OpenTarget> {
  try {
    for (let tries = TRIES; ; tries--) {
      const made = await makeDirectory(directory)
      try {
        const [target, hasAny] = [targetOf(directory), hasFillers(directory)]
        return await markTarget({
          ...target,
          made,
          hasFillers: hasAny,
          fileSystem: new FileSystemFlush(directory),
        })
      } catch (error) {
        // A fetch that made the directory and stored nothing in it has removed it.
        if (errnoOf(error) !== 'ENOENT' || tries <= 0 || isDirectory(directory)) throw error
      }
    }
  } catch (error) {
    const facts = { kind: 'unwritten-directory', directory } as const
    throw new Failure(facts, `can't write to the directory ${directory}: ${reasonOf(error)}`, error)
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

export const isDirectory = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

function whyNone(path: string, error: unknown): unknown {
  // Windows reports the same error for every path on a missing drive or share.
  if (parse(path).root === path) return new Error(`drive or share ${path} does not exist`)
  const status = lstatSync(path, { throwIfNoEntry: false })
  if (status === undefined) return error
  return new Error(`${path} ${status.isSymbolicLink() ? 'is a broken link' : 'is not a directory'}`)
}

async function markTarget(target: Omit<OpenTarget, 'mark' | 'canFlush'>): Promise<OpenTarget> {
  const mark = newAnswerName() + FETCH_MARK
  try {
    closeSync(await createIncoming(target, mark))
    // Also if another call made the place: it may have been killed before this flush. The mark keeps the place from
    // now on.
    return { ...target, mark, canFlush: await flushDirectory(target.directory) }
  } catch (error) {
    closeTarget({ ...target, mark })
    throw error
  }
}

/**
 * Also makes the place for answers if it is missing.
 * @returns the open file
 * @throws the system error
 */
export const createIncoming = (target: Target, name: string): Promise<number> =>
  inIncoming(target, () => openSync(incomingPath(target.directory, name), 'wx', fileRights(target.rights)))

/**
 * The same for a directory, unless it is there.
 * @throws the system error
 */
export const makeIncoming = (target: Target, name: string): Promise<boolean> =>
  inIncoming(target, () => makeOne(incomingPath(target.directory, name), target.rights))

async function inIncoming<T>(target: Target, make: () => T): Promise<T> {
  for (let tries = TRIES; ; tries--) {
    await makePlace(target)
    try {
      return patiently(make)
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT' || tries <= 0) throw error
      // A network file system may report for a while that the removed place still exists.
      if (tries < TRIES) await sleep(PAUSE_MS)
    }
  }
}

/** Writes a new file there and flushes it. Its name is durable once the directory of answers is flushed. */
export const writeIncoming = async (target: Target, name: string, contents: string | Uint8Array) =>
  fillFlushed(await createIncoming(target, name), contents)

async function makePlace({ directory, rights, mark }: Target): Promise<void> {
  const place = join(directory, INCOMING)
  const isNew = makeOne(place, rights)
  // Without a mark, others may still remove the place. It is flushed later.
  if (isNew && mark !== undefined) await flushDirectory(directory)
  // A link would lead out of the directory.
  if (isOther(place)) throw new Error(`${place} is not a directory`)
}

/** @returns false if it already exists, or seems to */
function makeOne(path: string, rights: number): boolean {
  try {
    mkdirSync(path, { mode: rights })
    return true
  } catch (error) {
    if (errnoOf(error) === 'EEXIST' || isDirectory(path)) return false
    throw error
  }
}

/** Answers that are still put aside stay. Directories that were made for nothing are removed. */
export function closeTarget({ directory, mark, made = [] }: Target): void {
  if (mark !== undefined) tryToRemove(incomingPath(directory, mark))
  try {
    rmdirSync(join(directory, INCOMING))
    flushDirectorySync(directory)
    for (const each of made) rmdirSync(each)
  } catch {}
  if (made.includes(directory)) introduce(directory)
}

const isOther = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === false
