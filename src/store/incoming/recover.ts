import { closeSync, existsSync, renameSync } from 'node:fs'
import { lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errnoOf, Failure, reasonOf } from '../../failure.ts'
import { type Messages, several } from '../../words.ts'
import { fileRights, removeIfThere, tryToRemove } from '../directory-entries.ts'
import { flushDirectory, writeFlushed } from '../flush/flush.ts'
import { patiently } from '../patience.ts'
import { FreeList } from '../queue.ts'
import { publishAnswer } from './add.ts'
import type { Added } from './already-stored.ts'
import {
  ANSWER,
  answerPath,
  DAMAGED,
  FETCH_MARK,
  INCOMING,
  incomingPath,
  isAbandoned,
  newAnswerName,
  parseAnswerFile,
  TAKEN,
} from './answers.ts'
import { removeAll, removeAnswer } from './reserve.ts'
import { createIncoming, makeIncoming, type Target, targetOf } from './target-directory.ts'
import { type Unanswered, unansweredOf, warnOfUnanswered } from './unanswered.ts'

const SECOND_LOOK_MS = 1000

export interface Recovered extends Added {
  /** The rest of their profiles is lost. */
  readonly damaged?: string[]
}

/** @throws {Failure} `disk` */
export async function finishFetches(directory: string, messages: Messages): Promise<void> {
  const {
    stored = [],
    known = [],
    damaged = [],
  } = (await recover(directory, (each) => warnOfUnanswered(each, messages))) ?? {}
  // A fetch or a move may have been interrupted before it received anything.
  if (stored.length + known.length > 0) {
    messages.tell(0, `stored what an interrupted call received: ${several(stored.length, 'new profile')}`)
  }
  for (const path of damaged) {
    messages.warn(`part of what an interrupted call received can't be read; the rest is kept in ${path}`)
  }
}

/**
 * @param tell receives what was requested and not received, before what says so is removed
 * @returns undefined if there was nothing to do
 * @throws {Failure} `disk`
 */
export async function recover(
  directory: string,
  tell: (unanswered: Unanswered) => void = () => {},
): Promise<Recovered | undefined> {
  try {
    const names = await abandoned(directory)
    if (names.length === 0) return undefined
    const unanswered = unansweredOf(directory, names)
    if (unanswered !== undefined) tell(unanswered)
    const target = targetOf(directory)
    const all: Recovered[] = []
    try {
      for (const name of names) {
        if (name.endsWith(ANSWER)) all.push(...(await finish(target, name)))
        else if (name.endsWith(TAKEN)) removeAll(incomingPath(directory, name))
        else tryToRemove(incomingPath(directory, name))
      }
    } finally {
      FreeList.drop(directory)
    }
    return all.length === 0 ? undefined : merged(all)
  } catch (error) {
    if (error instanceof Failure) throw error
    const facts = { kind: 'not-recovered', directory } as const
    throw new Failure(facts, `can't store what an interrupted call received: ${reasonOf(error)}`, error)
  }
}

function merged(all: readonly Recovered[]): Recovered {
  const damaged = all.flatMap((each) => each.damaged ?? [])
  const added = { stored: all.flatMap(({ stored }) => stored), known: all.flatMap(({ known }) => known) }
  return damaged.length === 0 ? added : { ...added, damaged }
}

/**
 * If several calls find an answer, the one that takes it away continues, with its own copy. A rename alone would not do:
 * on FAT, a power cut could leave neither name. The call that had it can't publish anything of it from then on.
 */
async function finish(target: Target, name: string): Promise<Recovered[]> {
  const { directory } = target
  const own = newAnswerName()
  const [theirs, path] = [incomingPath(directory, name), answerPath(directory, own)]
  let text: Buffer
  try {
    const isFile = (await lstat(theirs)).isFile()
    const hasAnswer = isFile || (await readdir(theirs)).includes('answer')
    // Without, the call was killed before it had received anything, or after it had stored all.
    text = hasAnswer ? await readFile(isFile ? theirs : join(theirs, 'answer')) : Buffer.alloc(0)
    makeIncoming(target, own + ANSWER)
    await writeFlushed(path, text, fileRights(target.rights))
    await flushDirectory(incomingPath(directory, own + ANSWER))
    await flushDirectory(join(directory, INCOMING))
    // A server may say that it is gone, although this call has removed it. To store it twice does no harm.
    if (isFile) patiently(() => removeIfThere(theirs))
    else takeAway(theirs, incomingPath(directory, own + TAKEN))
  } catch (error) {
    const isGone = errnoOf(error) === 'ENOENT'
    // A disk that fails may have removed it all the same.
    if (isGone || existsSync(theirs)) removeAnswer(directory, own)
    if (isGone) return []
    throw error
  }
  const { profiles, isComplete } = parseAnswerFile(text.toString('utf8'))
  const kept = isComplete || text.length === 0 ? undefined : incomingPath(directory, own + DAMAGED)
  const added = await publishAnswer(target, own, profiles, kept)
  return text.length === 0 ? [] : [kept === undefined ? added : { ...added, damaged: [kept] }]
}

/** @throws the system error, ENOENT if another call has taken it away */
function takeAway(theirs: string, taken: string): void {
  try {
    patiently(() => renameSync(theirs, taken))
  } catch (error) {
    if (!existsSync(taken)) throw error
  }
  removeAll(taken)
}

async function abandoned(directory: string): Promise<string[]> {
  const place = join(directory, INCOMING)
  // A link would lead out of the directory.
  const isPlace = await lstat(place).then(
    (status) => status.isDirectory(),
    () => false,
  )
  const names = isPlace ? await readdir(place).catch(goneIsEmpty) : []
  const found = await abandonedAt(Date.now(), directory, names.sort())
  if ([...found.values()].every((why) => why === 'dead')) return [...found.keys()]
  // Over NFS, the times of a file are made up while it is being created.
  await sleep(SECOND_LOOK_MS)
  return [...(await abandonedAt(await timeOn(directory), directory, found.keys())).keys()]
}

async function abandonedAt(now: number, directory: string, names: Iterable<string>) {
  const found = new Map<string, 'dead' | 'old'>()
  for (const name of names) {
    const status = await lstat(incomingPath(directory, name)).catch(() => undefined)
    const why = status !== undefined && isAbandoned(name, now - status.mtimeMs)
    if (why) found.set(name, why)
  }
  return found
}

/** The time by the clock that the times of files come from: on a network disk, another machine's. */
async function timeOn(directory: string): Promise<number> {
  const name = newAnswerName() + FETCH_MARK
  try {
    closeSync(createIncoming(targetOf(directory), name))
    const { mtimeMs } = await lstat(incomingPath(directory, name))
    return mtimeMs
  } catch {
    return Date.now()
  } finally {
    tryToRemove(incomingPath(directory, name))
  }
}

function goneIsEmpty(error: unknown): string[] {
  if (errnoOf(error) === 'ENOENT') return []
  throw error
}
