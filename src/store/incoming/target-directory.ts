/** A directory that receives profiles, and how an answer of the service is put aside in it: reserved, written, removed. */
import {
  closeSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, normalize, parse } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errnoOf, Failure, reasonOf } from '../../failure.ts'
import { exists, fileRights, makeThere, removeEmpty, rightsOf, tryToRemove } from '../directory-entries.ts'
import { fillFlushed, flushDirectory, flushFile, writeFlushed } from '../flush/flush.ts'
import { FileSystemFlush } from '../flush/whole-file-system.ts'
import { forget, introduce } from '../identity.ts'
import { hasFillers, hasProfiles } from '../listing.ts'
import { attempt, patiently } from '../patience.ts'
import type { StoredProfile } from '../profile-file.ts'
import {
  answerPath,
  BYTES_RESERVED,
  DAMAGED,
  END,
  formatAnswer,
  INCOMING,
  incomingPath,
  newName,
  RUBBISH,
  toReserve,
} from './answers.ts'

/** The space of a removed file may not be available at once. */
const FULL = ['ENOSPC', 'EDQUOT']
const TRIES = 5
const PAUSE_MS = 1000

export interface Target {
  /** As `join` begins its paths. */
  readonly directory: string
  /** Of what is made in it. */
  readonly rights: number
  /** Whether any name in it has a filler. If none has, there is one way only to spell an ICCID: `fetch` takes a fifth less. */
  hasFillers?: boolean
  /** Whether the file system has hard links. */
  readonly hasLinks?: boolean
  readonly fileSystem?: FileSystemFlush
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
    const { hasLinks } = probe(target)
    // One that has profiles and does not know itself may be a copy.
    if (!hasAny(directory)) introduce(directory)
    // Also if another call made the place for answers: it may have been killed before this flush.
    const canFlush = await flushDirectory(directory)
    const fileSystem = new FileSystemFlush(directory)
    return { ...target, made, canFlush, fileSystem, hasLinks, hasFillers: hasFillers(directory) }
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
    if (!isDirectory(path)) throw whyNoDirectory(path, error)
  }
  // Also if it already exists: the call that made it may have been killed before this flush.
  for (const place of [above, dirname(above)]) await flushDirectory(place).catch(() => {})
  return made
}

const hasAny = (directory: string) => [false, true].some((areUsed) => hasProfiles(directory, areUsed))

/** Directories that were made for nothing go again. */
export function closeTarget({ directory, made }: OpenTarget): void {
  if (!made.includes(directory) || hasAny(directory)) return
  attempt(() => {
    rmdirSync(join(directory, INCOMING))
    forget(directory)
    for (const each of made) rmdirSync(each)
  })
}

export const isDirectory = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

function whyNoDirectory(path: string, error: unknown): unknown {
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
function createIncoming({ directory, rights }: Target, name: string): number {
  makePlace(directory)
  return patiently(() => openSync(incomingPath(directory, name), 'wx', fileRights(rights)))
}

/** A link would lead out of the directory. */
function makePlace(directory: string): void {
  const place = join(directory, INCOMING)
  if (!exists(place)) patiently(() => makeThere(directory, INCOMING))
  if (!lstatSync(place).isDirectory()) throw new Error(`${place} is not a directory`)
}

/**
 * Creates a file among the answers and removes it. Where there are no hard links, file systems say so with many different
 * errors. If the disk is really broken, whatever comes next fails as well and reports it.
 * @returns whether there are hard links, and the time by the clock that the times of files come from: on a network disk,
 * another machine's
 * @throws the system error
 */
export function probe(target: Target): { hasLinks: boolean; ms: number } {
  const name = newName(RUBBISH)
  const path = incomingPath(target.directory, name)
  const link = incomingPath(target.directory, newName(RUBBISH))
  closeSync(createIncoming(target, name))
  const ms = attempt(() => lstatSync(path).mtimeMs) ?? Date.now()
  const hasLinks = attempt(() => {
    linkSync(path, link)
    return true
  })
  for (const each of [path, link]) tryToRemove(each)
  return { hasLinks: hasLinks === true, ms }
}

/**
 * Makes the place of an answer, with the space for it.
 * @returns the name of the answer
 * @throws {Failure} `disk`
 */
export async function reserve(target: Target, profiles: number): Promise<string> {
  const answer = newName()
  try {
    await createAnswer(target, answer, toReserve(profiles * BYTES_RESERVED))
    return answer
  } catch (error) {
    removeAnswer(target, answer)
    const facts = { kind: 'no-reserve', count: profiles } as const
    throw new Failure(facts, `can't reserve disk space in ${target.directory}: ${reasonOf(error)}`, error)
  }
}

/** Its names are durable once `flushNames` has flushed them. */
async function createAnswer({ directory, rights }: Target, answer: string, contents: Buffer): Promise<void> {
  makePlace(directory)
  patiently(() => mkdirSync(incomingPath(directory, answer), { mode: rights }))
  await writeFlushed(answerPath(directory, answer), contents, fileRights(rights))
}

/** Removes an answer, or the space for it, and what is left of its way out. What stays is rubbish. */
export function removeAnswer({ directory }: Target, answer: string): void {
  const place = incomingPath(directory, answer)
  for (const name of attempt(() => readdirSync(place)) ?? []) tryToRemove(join(place, name))
  if (!removeEmpty(place)) tryToRemove(place)
}

/**
 * Uses the reserved space, or any free space.
 * @throws the system error; nothing of the answer is left then
 */
export async function putAside(
  target: Target,
  answer: string,
  profiles: readonly StoredProfile[],
): Promise<void> {
  const text = formatAnswer(profiles)
  for (let tries = 0; ; tries++) {
    try {
      if (tries > 0) return await writeAnswer(target, answer, Buffer.from(text))
      await writeOver(answerPath(target.directory, answer), text)
      return await flushNames(target, answer)
    } catch (error) {
      // Profiles that are reported as lost must not reappear later, because the user may have requested them again.
      removeAnswer(target, answer)
      if (tries === 0) continue
      if (tries >= TRIES || !FULL.includes(errnoOf(error) ?? '')) throw error
      await sleep(PAUSE_MS)
    }
  }
}

/** Writes and flushes an answer, and its names. */
export async function writeAnswer(target: Target, answer: string, contents: Buffer): Promise<void> {
  await createAnswer(target, answer, contents)
  await flushNames(target, answer)
}

/** @throws ENOENT if the answer is gone: a call that was paused for long has been taken for dead */
async function flushNames({ directory }: Target, answer: string): Promise<void> {
  await flushDirectory(incomingPath(directory, answer))
  await flushDirectory(join(directory, INCOMING))
  lstatSync(answerPath(directory, answer))
}

/** A crash leaves what is written to the next call. */
async function writeOver(path: string, text: string): Promise<void> {
  const file = patiently(() => openSync(path, 'r+'))
  try {
    writeFileSync(file, text + END)
    ftruncateSync(file, Buffer.byteLength(text))
    await flushFile(file)
  } finally {
    closeSync(file)
  }
}

/**
 * Keeps what the service has sent and nothing here can store, so that a person can look at it: its profiles are paid
 * for. No call touches the file again.
 * @param bytes the answer as it came
 * @returns the path of the file
 * @throws the system error
 */
export async function putAsideUnread(target: Target, bytes: Uint8Array): Promise<string> {
  const name = newName(DAMAGED)
  await fillFlushed(createIncoming(target, name), bytes)
  await flushDirectory(join(target.directory, INCOMING))
  return incomingPath(target.directory, name)
}
