/**
 * What ended calls have left: answers that are put aside and not stored, and requests whose answers never came. Of those,
 * the space that they reserved is still there, as it was: its size says how many profiles were requested, and its time when.
 */
import { closeSync, existsSync, lstatSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errnoOf, Failure, reasonOf } from '../../failure.ts'
import { type Messages, several } from '../../words.ts'
import { namesIn, removeIfThere, tryToRemove } from '../directory-entries.ts'
import { fileName } from '../names.ts'
import { attempt, ifThere, patiently } from '../patience.ts'
import { FreeList } from '../queue.ts'
import { type Added, find, publishAnswer } from './add.ts'
import {
  ANSWER,
  answerPath,
  DAMAGED,
  END,
  FETCH_MARK,
  INCOMING,
  incomingNames,
  incomingPath,
  isAbandoned,
  newAnswerName,
  parseAnswerFile,
  parseProfile,
  profilesReserved,
  RESERVE,
  type StoredProfile,
  TAKEN,
} from './answers.ts'
import {
  createIncoming,
  removeAll,
  removeAnswer,
  type Target,
  targetOf,
  writeAnswer,
} from './target-directory.ts'

const SECOND_LOOK_MS = 1000

export interface Recovered extends Added {
  /** The paths of answers whose rest is lost. */
  readonly damaged: string[]
}

/** @throws {Failure} `disk` */
export async function finishFetches(directory: string, messages: Messages): Promise<void> {
  const { stored, known, damaged } = await recover(directory, (each) => warnOfUnanswered(each, messages))
  // A fetch or a move may have been interrupted before it received anything.
  if (stored.length + known.length > 0)
    messages.tell(0, `stored what an interrupted call received: ${several(stored.length, 'new profile')}`)
  for (const path of damaged)
    messages.warn(`part of what an interrupted call received can't be read; the rest is kept in ${path}`)
}

/**
 * @param tell receives what was requested and not received, before what says so is removed
 * @throws {Failure} `disk`
 */
export async function recover(
  directory: string,
  tell: (unanswered: Unanswered) => void = () => {},
): Promise<Recovered> {
  const all: Recovered = { stored: [], known: [], damaged: [] }
  try {
    const names = await abandoned(directory)
    if (names.length === 0) return all
    const unanswered = unansweredOf(directory, names)
    if (unanswered !== undefined) tell(unanswered)
    const target = targetOf(directory)
    try {
      for (const name of names) {
        if (name.endsWith(ANSWER)) await finish(target, name, all)
        else if (name.endsWith(TAKEN)) removeAll(incomingPath(directory, name))
        else tryToRemove(incomingPath(directory, name))
      }
    } finally {
      FreeList.drop(directory)
    }
    return all
  } catch (error) {
    if (error instanceof Failure) throw error
    const facts = { kind: 'not-recovered', directory } as const
    throw new Failure(facts, `can't store what an interrupted call received: ${reasonOf(error)}`, error)
  }
}

/**
 * If several calls find an answer, the one that takes it away continues, with its own copy. A rename alone would not do:
 * on FAT, a power cut could leave neither name. The call that had it can't publish anything of it from then on.
 */
async function finish(target: Target, name: string, all: Recovered): Promise<void> {
  const { directory } = target
  const own = newAnswerName()
  const theirs = incomingPath(directory, name)
  let text: Buffer
  try {
    const isFile = lstatSync(theirs).isFile()
    text = isFile ? readFileSync(theirs) : answerIn(theirs)
    await writeAnswer(target, own, text)
    // A server may say that it is gone, although this call has removed it. To store it twice does no harm.
    if (isFile) patiently(() => removeIfThere(theirs))
    else {
      const taken = incomingPath(directory, own + TAKEN)
      takeAway(theirs, taken)
      // It is old: others may have removed it by now.
      const last = ifThere(() => answerIn(taken)) ?? text
      if (!last.equals(text)) {
        // A call that was paused for long has gone on, and written it since.
        text = last
        removeAnswer(directory, own)
        await writeAnswer(target, own, text)
      }
      removeAll(taken)
    }
  } catch (error) {
    const isGone = errnoOf(error) === 'ENOENT'
    // A disk that fails may have removed it all the same.
    if (isGone || existsSync(theirs)) removeAnswer(directory, own)
    if (isGone) return
    throw error
  }
  const { profiles, isComplete } = parseAnswerFile(text.toString('utf8'))
  const kept = isComplete || text.length === 0 ? undefined : incomingPath(directory, own + DAMAGED)
  const { stored, known } = await publishAnswer(target, own, profiles, kept)
  all.stored.push(...stored)
  all.known.push(...known)
  if (kept !== undefined) all.damaged.push(kept)
}

/** Empty if the call was killed before it had received anything, or after it had stored all. */
const answerIn = (place: string): Buffer =>
  readdirSync(place).includes('answer') ? readFileSync(join(place, 'answer')) : Buffer.alloc(0)

/** @throws the system error, ENOENT if another call has taken it away */
function takeAway(theirs: string, taken: string): void {
  try {
    patiently(() => renameSync(theirs, taken))
  } catch (error) {
    if (!existsSync(taken)) throw error
  }
}

async function abandoned(directory: string): Promise<string[]> {
  const place = join(directory, INCOMING)
  // A link would lead out of the directory.
  const names = statusOf(place)?.isDirectory() ? namesIn(place).sort() : []
  const found = abandonedAt(Date.now(), directory, names)
  if ([...found.values()].every((why) => why === 'dead')) return [...found.keys()]
  // Over NFS, the times of a file are made up while it is being created.
  await sleep(SECOND_LOOK_MS)
  return [...abandonedAt(timeOn(directory), directory, found.keys()).keys()]
}

function abandonedAt(now: number, directory: string, names: Iterable<string>) {
  const found = new Map<string, 'dead' | 'old'>()
  for (const name of names) {
    const status = statusOf(incomingPath(directory, name))
    const why = status !== undefined && isAbandoned(name, now - status.mtimeMs)
    if (why) found.set(name, why)
  }
  return found
}

/** It may be gone by now. */
const statusOf = (path: string) => attempt(() => lstatSync(path))

/** The time by the clock that the times of files come from: on a network disk, another machine's. */
function timeOn(directory: string): number {
  const name = newAnswerName() + FETCH_MARK
  try {
    closeSync(createIncoming(targetOf(directory), name))
    return lstatSync(incomingPath(directory, name)).mtimeMs
  } catch {
    return Date.now()
  } finally {
    tryToRemove(incomingPath(directory, name))
  }
}

export interface Unanswered {
  readonly directory: string
  /** How many profiles the service may have allocated. */
  readonly profiles: number
  /** When the first and the last of them were requested, in milliseconds. */
  readonly firstMs: number
  readonly lastMs: number
}

/** Changes nothing, and goes by the clock of this machine: what another one left counts when it is a day old. */
export const findUnanswered = (directory: string): Unanswered | undefined =>
  unansweredOf(directory, abandonedAt(Date.now(), directory, incomingNames(directory)).keys())

/** @param names what calls have left that have ended */
function unansweredOf(directory: string, names: Iterable<string>): Unanswered | undefined {
  const all = [...names].flatMap((name) => requestOf(directory, name) ?? [])
  if (all.length === 0) return undefined
  const times = all.map(({ ms }) => ms)
  const profiles = all.reduce((sum, each) => sum + each.profiles, 0)
  return { directory, profiles, firstMs: Math.min(...times), lastMs: Math.max(...times) }
}

export function warnOfUnanswered(unanswered: Unanswered, messages: Messages): void {
  const { directory, profiles, firstMs, lastMs } = unanswered
  const [first, last] = [firstMs, lastMs].map((ms) => new Date(ms).toISOString())
  const when = first === last ? `at ${first}` : `from ${first} to ${last}`
  messages.warn(
    `up to ${several(profiles, 'profile')} may have been allocated and not stored in ${directory}: a fetch was interrupted that had requested them ${when}`,
    'unanswered',
  )
}

function requestOf(directory: string, name: string): { profiles: number; ms: number } | undefined {
  const path = reservePath(directory, name)
  const status = path === undefined ? undefined : statusOf(path)
  const profiles = status?.isFile() ? profilesReserved(status.size) : 0
  return status === undefined || profiles === 0 ? undefined : { profiles, ms: status.mtimeMs }
}

/** A reserve becomes the answer by a rename, and nothing may be written over it yet. On FAT, both names can be left. */
function reservePath(directory: string, name: string): string | undefined {
  if (name.endsWith(ANSWER)) {
    const path = answerPath(directory, name.slice(0, -ANSWER.length))
    return [path, incomingPath(directory, name)].find(beginsAsReserve)
  }
  if (!name.endsWith(RESERVE) || existsSync(answerPath(directory, name.slice(0, -RESERVE.length))))
    return undefined
  return incomingPath(directory, name)
}

/** It may be gone, or a directory. */
const beginsAsReserve = (path: string) => attempt(() => readFileSync(path, 'latin1').startsWith(END)) === true

/** The vendor's tool lists all that it has received, and may have ended before it stored all of it. */
export function warnOfVendorList(directory: string, messages: Messages): void {
  const listed = listIn(directory)
  if (listed.length === 0) return
  const target = targetOf(directory)
  const missing = listed.filter(({ iccid }) => find(target, fileName(iccid)) === undefined)
  if (missing.length === 0) return
  messages.warn(`${several(missing.length, 'profile')} of profiles.json not in ${directory}`, 'only-listed')
  for (const { iccid } of missing) messages.tell(1, `${iccid} is only in profiles.json`)
}

const listIn = (directory: string): StoredProfile[] =>
  attempt(() => {
    const list: unknown[] = JSON.parse(readFileSync(join(directory, 'profiles.json'), 'utf8'))
    return list.flatMap((each) => parseProfile(JSON.stringify(each)) ?? [])
  }) ?? []
