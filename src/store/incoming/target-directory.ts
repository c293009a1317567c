/** A directory that receives profiles, and how an answer of the service is put aside in it: reserved, written, removed. */
import {
  closeSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, normalize, parse } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errnoOf, Failure, reasonOf } from '../../failure.ts'
import { exists, fileRights, makeThere, rightsOf, tryToRemove } from '../directory-entries.ts'
import { fillFlushed, flushDirectory, flushFile, writeFlushed } from '../flush/flush.ts'
import { FileSystemFlush } from '../flush/whole-file-system.ts'
import { introduce } from '../identity.ts'
import { attempt, patiently } from '../patience.ts'
import { hasFillers } from '../read.ts'
import {
  ANSWER,
  answerPath,
  BYTES_RESERVED,
  DAMAGED,
  END,
  FETCH_MARK,
  formatAnswer,
  INCOMING,
  incomingPath,
  newAnswerName,
  RESERVE,
  type StoredProfile,
  toReserve,
} from './answers.ts'

/** The space of a removed reserve may not be available at once. */
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
  const isGone = attempt(() => {
    if (!made.includes(directory)) return false
    rmdirSync(join(directory, INCOMING))
    for (const each of made) rmdirSync(each)
    return true
  })
  if (isGone !== true) introduce(directory)
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
  makePlace(directory)
  return patiently(() => openSync(incomingPath(directory, name), 'wx', fileRights(rights)))
}

/**
 * Makes a directory among the answers, unless it is there.
 * @throws the system error
 */
function makeIncoming({ directory, rights }: Target, name: string): void {
  makePlace(directory)
  const path = incomingPath(directory, name)
  if (!exists(path)) patiently(() => mkdirSync(path, { mode: rights }))
}

/** Writes a new file there and flushes it. Its name is durable once the directory of answers is flushed. */
const writeIncoming = async (target: Target, name: string, contents: string | Uint8Array) =>
  fillFlushed(createIncoming(target, name), contents)

/** A link would lead out of the directory. */
function makePlace(directory: string): void {
  const place = join(directory, INCOMING)
  if (!exists(place)) patiently(() => makeThere(directory, INCOMING))
  if (!lstatSync(place).isDirectory()) throw new Error(`${place} is not a directory`)
}

/**
 * @returns the name of the answer, without a suffix
 * @throws {Failure} `disk`
 */
export async function reserve(target: Target, profiles: number): Promise<string> {
  const answer = newAnswerName()
  try {
    await writeIncoming(target, answer + RESERVE, toReserve(profiles * BYTES_RESERVED))
    return answer
  } catch (error) {
    release(target, answer)
    const facts = { kind: 'no-reserve', count: profiles } as const
    throw new Failure(facts, `can't reserve disk space in ${target.directory}: ${reasonOf(error)}`, error)
  }
}

export function release({ directory }: Target, answer: string): void {
  tryToRemove(incomingPath(directory, answer + RESERVE))
  removeAnswer(directory, answer)
}

/** Removes an answer and what is left of its way out. */
export const removeAnswer = (directory: string, answer: string): void =>
  removeAll(incomingPath(directory, answer + ANSWER))

/** Removes a directory with files in it. What stays is rubbish. */
export const removeAll = (place: string): void =>
  attempt(() => {
    for (const name of readdirSync(place)) tryToRemove(join(place, name))
    rmdirSync(place)
  })

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
      if (tries === 0) return await writeOver(target, answer, text)
      return await writeAnswer(target, answer, Buffer.from(text))
    } catch (error) {
      // Profiles that are reported as lost must not reappear later, because the user may have requested them again.
      release(target, answer)
      if (tries === 0) continue
      if (tries >= TRIES || !FULL.includes(errnoOf(error) ?? '')) throw error
      await sleep(PAUSE_MS)
    }
  }
}

/** Writes and flushes an answer, and its names. */
export async function writeAnswer(target: Target, answer: string, contents: Buffer): Promise<void> {
  makeIncoming(target, answer + ANSWER)
  await writeFlushed(answerPath(target.directory, answer), contents, fileRights(target.rights))
  await flushNames(target, answer)
  checkThere(target, answer)
}

async function flushNames({ directory }: Target, answer: string): Promise<void> {
  await flushDirectory(incomingPath(directory, answer + ANSWER))
  await flushDirectory(join(directory, INCOMING))
}

/** A call that was paused for long has been taken for dead: another one has removed what it found. */
const checkThere = ({ directory }: Target, answer: string) => lstatSync(answerPath(directory, answer))

/** The rename comes first, so that a crash leaves what is written to the next call. */
async function writeOver(target: Target, answer: string, text: string): Promise<void> {
  const { directory } = target
  const path = answerPath(directory, answer)
  makeIncoming(target, answer + ANSWER)
  patiently(() => renameSync(incomingPath(directory, answer + RESERVE), path))
  // On FAT, both names may be on the disk until these flushes, for the same clusters.
  await flushNames(target, answer)
  const file = patiently(() => openSync(path, 'r+'))
  try {
    writeFileSync(file, text + END)
    ftruncateSync(file, Buffer.byteLength(text))
    await flushFile(file)
  } finally {
    closeSync(file)
  }
  checkThere(target, answer)
  await flushDirectory(join(directory, INCOMING))
}

/**
 * Keeps what the service has sent and nothing here can store, so that a person can look at it: its profiles are paid
 * for. No call touches the file again.
 * @param bytes the answer as it came
 * @returns the path of the file
 * @throws the system error
 */
export async function putAsideUnread(target: Target, bytes: Uint8Array): Promise<string> {
  const name = newAnswerName() + DAMAGED
  await writeIncoming(target, name, bytes)
  await flushDirectory(join(target.directory, INCOMING))
  return incomingPath(target.directory, name)
}
