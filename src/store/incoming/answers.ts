/** How an answer of the service is put aside in a directory: reserved, written, read, removed. */
import { createHash, randomUUID } from 'node:crypto'
import {
  closeSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { hostname, uptime } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errnoOf } from '../../failure.ts'
import { exists, fileRights, makeThere, namesIn, removeEmpty, tryToRemove } from '../directory-entries.ts'
import { fillFlushed, flushDirectory, flushFile, writeFlushed } from '../flush/flush.ts'
import type { FileSystemFlush } from '../flush/whole-file-system.ts'
import { attempt, patiently } from '../patience.ts'
import { parseProfile, type StoredProfile, toFile } from '../profile-file.ts'

/** The hidden directory in which answers are put aside until their profiles are published. */
export const INCOMING = '.incoming'

/**
 * The suffix of an answer: a directory with the answer in it, and the profiles on their way out of it. Until the answer is
 * there, the space for it is. Whoever finishes what another call has put aside takes the directory away first, and that
 * call can't go on.
 */
export const ANSWER = '.answer'

/** The suffix of an answer that could not be read completely. It is kept for a person to inspect. */
const DAMAGED = '.damaged'

/** The suffix of what goes again at once: an answer that was taken away. In version 1.1, it marked a running fetch. */
export const RUBBISH = '.fetch'

/** In version 1.1, an answer was a file, and so was the space for one. */
const ANSWERS = /\.(answer|reserve)$/

const SEPARATOR = '~'
const OURS = /^[^~]+~\d+~[0-9a-f-]{36}(\.\d+|\.answer|\.reserve|\.fetch)$/
const ABANDONED_AFTER_MS = 10 * 60 * 1000
const LONGEST_FETCH_MS = 24 * 60 * 60 * 1000

export const incomingPath = (directory: string, name: string) => join(directory, INCOMING, name)

/** The path of the profiles of an answer, as they came. */
export const answerPath = (directory: string, answer: string) =>
  join(incomingPath(directory, answer), 'answer')

export const newName = (ending = ANSWER): string =>
  [thisMachine(), process.pid, randomUUID()].join(SEPARATOR) + ending

/**
 * The names of all that is put aside in a directory. A link would lead out of it.
 * @throws the system error
 */
export function incomingNames(directory: string): string[] {
  const place = join(directory, INCOMING)
  return lstatSync(place, { throwIfNoEntry: false })?.isDirectory() ? namesIn(place).sort() : []
}

/** An answer, or the space for one. */
interface PutAside {
  readonly path: string
  readonly size: number
  readonly mtimeMs: number
  /** Whether the answer has not come yet. */
  readonly isSpace: boolean
}

/**
 * Looks at what is put aside under a name. Links are not followed.
 * @returns undefined if it is something else
 * @throws the system error
 */
export function putAsideAt(directory: string, name: string): PutAside | undefined {
  if (!ANSWERS.test(name)) return undefined
  const place = incomingPath(directory, name)
  const path = lstatSync(place).isDirectory() ? answerPath(directory, name) : place
  const status = lstatSync(path)
  if (!status.isFile()) return undefined
  return { path, size: status.size, mtimeMs: status.mtimeMs, isSpace: beginsWithEnd(path) }
}

function beginsWithEnd(path: string): boolean {
  const file = openSync(path, 'r')
  try {
    const byte = Buffer.alloc(1)
    readSync(file, byte, 0, 1, 0)
    return byte.toString() === END
  } finally {
    closeSync(file)
  }
}

/** They may be stored and removed by now. */
const answersIn = (directory: string): PutAside[] =>
  (attempt(() => incomingNames(directory)) ?? [])
    .flatMap((name) => attempt(() => putAsideAt(directory, name)) ?? [])
    .filter(({ isSpace }) => !isSpace)

/** How many answers could not be read, and are kept for a person. */
export const countKept = (directory: string): number =>
  (attempt(() => incomingNames(directory)) ?? []).filter((name) => name.endsWith(DAMAGED)).length

/** Whether a call is storing profiles, or was killed. */
export const isStoring = (directory: string): boolean => answersIn(directory).length > 0

/** How many profiles are in the answers that are put aside. */
export const countReceived = (directory: string): number =>
  answersIn(directory)
    .map(({ path }) => attempt(() => parseAnswerFile(readFileSync(path, 'utf8')).profiles.length) ?? 0)
    .reduce((sum, count) => sum + count, 0)

/** Where process numbers mean the same: one container of one machine. Names of machines are often not unique. */
function thisMachine(): string {
  const machine = attempt(() => readFileSync('/etc/machine-id', 'utf8'))
  const container = attempt(() => statSync('/proc/self/ns/pid').ino)
  return createHash('sha256').update([hostname(), machine, container].join()).digest('hex').slice(0, 8)
}

const isOfThisMachine = (name: string) => name.split(SEPARATOR)[0] === thisMachine()

/** Whether the process that gave a name is gone. Of another machine or container, nobody here knows. */
export const isDead = (name: string) => isOfThisMachine(name) && !isAlive(Number(name.split(SEPARATOR)[1]))

function isAlive(pid: number): boolean {
  if (pid === process.pid) return true
  // Other numbers stand for process groups.
  if (!Number.isSafeInteger(pid) || pid < 1) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return errnoOf(error) === 'EPERM'
  }
}

/**
 * Whether the call that put something aside has ended. If this machine can't know that, the age decides: storing an answer
 * takes seconds, and so it counts as abandoned when it is ten minutes old; a request, when it is a day old.
 * @param now by the clock of the disk, in milliseconds
 */
export function isAbandoned(directory: string, name: string, now: number): boolean {
  if (!OURS.test(name)) return false
  if (isDead(name)) return true
  return (
    attempt(() => {
      const { mtimeMs } = lstatSync(incomingPath(directory, name))
      const answer = putAsideAt(directory, name)
      const ageMs = now - Math.max(mtimeMs, answer?.mtimeMs ?? mtimeMs)
      const longest = answer?.isSpace ? LONGEST_FETCH_MS : ABANDONED_AFTER_MS
      return Math.abs(ageMs) > longest || (isOfThisMachine(name) && ageMs > uptime() * 1000)
    }) ?? false
  )
}

export const formatAnswer = (profiles: readonly StoredProfile[]) =>
  profiles.map((each) => `${toFile(each)}\n`).join('')

/** Ends an answer that is followed by the rest of its reserve: an empty line. */
export const END = '\n'
export function parseAnswerFile(text: string): { profiles: StoredProfile[]; isComplete: boolean } {
  const lines = text.split('\n')
  // A line without a line break is incomplete, or belongs to the rest of the reserve.
  const profiles = lines.slice(0, -1).flatMap((line) => parseProfile(line) ?? [])
  // In an incomplete answer, the empty line is missing or is followed by more lines.
  const end = lines.indexOf('')
  return { profiles, isComplete: profiles.length === end && lines.length <= end + 2 }
}

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

/** Its names are durable once `flushNames` has flushed them. */
export async function createAnswer(
  { directory, rights }: Target,
  answer: string,
  contents: Buffer,
): Promise<void> {
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
