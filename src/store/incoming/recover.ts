/**
 * What ended calls have left: answers that are put aside and not stored, and requests whose answers never came. Of those,
 * the space that they reserved is still there, as it was: its size says how many profiles were requested, and its time when.
 */
import { existsSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errnoOf, Failure, reasonOf } from '../../failure.ts'
import { type Messages, several } from '../../words.ts'
import { removeIfThere } from '../directory-entries.ts'
import { fileName } from '../names.ts'
import { attempt, ifThere, patiently } from '../patience.ts'
import { parseProfile, type StoredProfile } from '../profile-file.ts'
import { FreeList } from '../queue.ts'
import { type Added, find, nothingAdded, publishAnswer } from './add.ts'
import {
  answerPath,
  incomingNames,
  incomingPath,
  isAbandoned,
  isDead,
  newName,
  parseAnswerFile,
  probe,
  putAsideAt,
  RUBBISH,
  removeAnswer,
  type Target,
  writeAnswer,
} from './answers.ts'
import { profilesReserved } from './free-space.ts'
import { targetOf } from './target-directory.ts'

const SECOND_LOOK_MS = 1000

/**
 * Stores what ended calls have left, and says so; first, what they had requested and not received.
 * @throws {Failure} `disk`
 */
export async function finishFetches(directory: string, messages: Messages): Promise<Added> {
  const all = nothingAdded()
  try {
    const names = await abandoned(directory)
    if (names.length === 0) return all
    const unanswered = unansweredOf(directory, names)
    if (unanswered !== undefined) warnOfUnanswered(unanswered, messages)
    const target = targetOf(directory)
    const { hasLinks } = probe(target)
    try {
      for (const name of names) await finish({ ...target, hasLinks }, name, all)
    } finally {
      FreeList.drop(directory)
    }
  } catch (error) {
    if (error instanceof Failure) throw error
    const facts = { kind: 'not-recovered', directory } as const
    throw new Failure(facts, `can't store what an interrupted call received: ${reasonOf(error)}`, error)
  }
  // A fetch or a move may have been interrupted before it received anything.
  if (all.stored.length + all.known.length > 0)
    messages.tell(0, `stored what an interrupted call received: ${several(all.stored.length, 'new profile')}`)
  for (const path of all.damaged)
    messages.warn(`part of what an interrupted call received can't be read; all of it is kept in ${path}`)
  return all
}

async function finish(target: Target, name: string, all: Added): Promise<void> {
  const own = newName()
  const bytes = await takeOver(target, name, own)
  if (bytes === undefined) return
  const { profiles, isComplete } = parseAnswerFile(bytes.toString('utf8'))
  await publishAnswer(target, { name: own, profiles, damaged: isComplete ? undefined : bytes }, all)
}

/**
 * If several calls find an answer, the one that takes it away continues, with its own copy: on FAT, a power cut could leave
 * neither name of a rename. The call that had it can't publish anything of it from then on.
 * @returns the copy; undefined if another call has it, or if there is none
 */
async function takeOver(target: Target, name: string, own: string): Promise<Buffer | undefined> {
  const { directory } = target
  const theirs = incomingPath(directory, name)
  try {
    const answer = ifThere(() => putAsideAt(directory, name))
    if (answer === undefined) {
      removeAnswer(target, name)
      return undefined
    }
    const bytes = readFileSync(answer.path)
    await writeAnswer(target, own, bytes)
    if (answer.path !== theirs) return await takeAway(target, name, own, bytes)
    // A server may say that it is gone, although this call has removed it. To store it twice does no harm.
    patiently(() => removeIfThere(theirs))
    return bytes
  } catch (error) {
    const isGone = errnoOf(error) === 'ENOENT'
    // A disk that fails may have removed it all the same.
    if (isGone || existsSync(theirs)) removeAnswer(target, own)
    if (isGone) return undefined
    throw error
  }
}

/** @returns what was in it at last: a call that was paused for long may have gone on, and written it since */
async function takeAway(target: Target, name: string, own: string, bytes: Buffer): Promise<Buffer> {
  const taken = newName(RUBBISH)
  rename(incomingPath(target.directory, name), incomingPath(target.directory, taken))
  // It is old: others may have removed it by now.
  const last = ifThere(() => readFileSync(answerPath(target.directory, taken))) ?? bytes
  if (!last.equals(bytes)) {
    removeAnswer(target, own)
    await writeAnswer(target, own, last)
  }
  removeAnswer(target, taken)
  return last
}

/** A server may say that it is gone, although this call has renamed it, and another one may have removed it since. */
function rename(from: string, to: string): void {
  try {
    patiently(() => renameSync(from, to))
  } catch (error) {
    // If another call has it, to store it twice does no harm.
    if (errnoOf(error) !== 'ENOENT' && !existsSync(to)) throw error
  }
}

async function abandoned(directory: string): Promise<string[]> {
  const found = incomingNames(directory).filter((name) => isAbandoned(directory, name, Date.now()))
  if (found.every(isDead)) return found
  // Over NFS, the times of a file are made up while it is being created.
  await sleep(SECOND_LOOK_MS)
  const now = attempt(() => probe(targetOf(directory)).ms) ?? Date.now()
  return found.filter((name) => isAbandoned(directory, name, now))
}

interface Unanswered {
  readonly directory: string
  /** How many profiles the service may have allocated. */
  readonly profiles: number
  /** When the first and the last of them were requested, in milliseconds. */
  readonly firstMs: number
  readonly lastMs: number
}

/** Changes nothing, and goes by the clock of this machine: what another one left counts when it is a day old. */
export const findUnanswered = (directory: string): Unanswered | undefined =>
  attempt(() => {
    const names = incomingNames(directory).filter((name) => isAbandoned(directory, name, Date.now()))
    return unansweredOf(directory, names)
  })

/** @param names what calls have left that have ended */
function unansweredOf(directory: string, names: readonly string[]): Unanswered | undefined {
  const all = names.flatMap((name) => requestOf(directory, name) ?? [])
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
  const answer = attempt(() => putAsideAt(directory, name))
  const profiles = answer?.isSpace ? profilesReserved(answer.size) : 0
  return answer === undefined || profiles === 0 ? undefined : { profiles, ms: answer.mtimeMs }
}

/** The vendor's tool lists all that it has received, and may have ended before it stored all of it. */
export function warnOfVendorList(directory: string, messages: Messages): void {
  const listed = listIn(directory)
  if (listed.length === 0) return
  const missing = listed.filter(({ iccid }) => find({ directory }, fileName(iccid)) === undefined)
  if (missing.length === 0) return
  messages.warn(`${several(missing.length, 'profile')} of profiles.json not in ${directory}`, 'only-listed')
  for (const { iccid } of missing) messages.tell(1, `${iccid} is only in profiles.json`)
}

const listIn = (directory: string): StoredProfile[] =>
  attempt(() => {
    const list: unknown[] = JSON.parse(readFileSync(join(directory, 'profiles.json'), 'utf8'))
    return list.flatMap((each) => parseProfile(JSON.stringify(each)) ?? [])
  }) ?? []
