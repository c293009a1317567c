/**
 * What comes into a directory: an answer of the service, or a move. What is to come is put aside in `.incoming/<id>`.
 * Somebody writes its profiles under names that nobody reads, and decides that these are the ones (`given/list`, the first
 * one wins); each gets its name by a rename, which happens once. Anybody may finish it, and nobody asks who is alive.
 */
import { mkdirSync, readdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { diskFailure, errnoOf, Failure, ifPossible, reasonOf } from '../failure.ts'
import type { StoredProfile } from '../profile/check.ts'
import { type Messages, several } from '../words.ts'
import { guarded } from './claims.ts'
import * as files from './files.ts'
import { identityOf, identityState } from './identity.ts'
import { dropList, knownIn } from './listing.ts'
import {
  asideName,
  fieldsOf,
  INCOMING,
  iccidOf,
  nameOf,
  newTag,
  pathIn,
  stagedName,
  stationName,
  usedName,
} from './names.ts'
import { arriveOnStick, decideOnStick, isWholeSoon } from './stick.ts'

/** A profile that comes. By a move, with the tag that holds it in the other directory. */
export interface Item {
  /** X */
  readonly name: string
  readonly tag?: string | undefined
}

/** What is decided: whose files they are, and which. */
export interface Given {
  readonly by: string
  readonly items: readonly Item[]
}

/** Begins the name of what is not put aside yet. */
const DRAFT = '~'

/** Begins the name of what is finished. */
const CLOSED = '-'

const REQUEST = 'request'
const ANSWER = 'answer'
const ORDER = 'order'

const pathOf = (directory: string, id: string, ...more: string[]) => join(directory, INCOMING, id, ...more)

/** The ids of what is not finished. Other names there are nobody's. */
const openIn = (directory: string): string[] =>
  files.namesIn(join(directory, INCOMING)).filter((id) => /^[0-9a-f][0-9a-f.]*$/.test(id))

/**
 * Whether an answer or order is not finished, for who concludes something from it.
 * @throws the system error, also if there is no `.incoming`: a directory that is not there proves nothing
 */
export const isOpen = (directory: string, id: string): boolean =>
  readdirSync(join(directory, INCOMING)).includes(id) &&
  (!files.isOnFat(directory) || isWholeSoon(pathOf(directory, id, ORDER)))

/**
 * Makes a directory for profiles, for this user alone. Where the one above is missing, a name is wrong, or a disk is not there.
 * @throws {Failure} `disk`
 */
export function makeTarget(directory: string): void {
  try {
    if (files.exists(directory)) return
    const above = dirname(resolve(directory))
    if (!files.exists(above)) {
      const hint = 'check its name, and whether its disk or share is there'
      throw new Failure('disk', `directory ${above} does not exist`, hint)
    }
    mkdirSync(directory, { mode: 0o700 })
    for (const each of [directory, above]) files.flushDirectory(each)
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw diskFailure(`can't make the directory ${directory}`, error)
  }
}

/** A request that was noted. */
export interface Noted {
  readonly id: string
  /** Whether its answer was put aside, and is only to be flushed: others may have moved on what is in it. */
  isMade: boolean
}

/**
 * Notes a request before it is sent, so that somebody hears of it if the call is killed. It also proves that the directory
 * can be written before anything is paid for.
 * @param count how many profiles are ordered
 * @throws {Failure} `disk`
 */
export function request(directory: string, count: number): Noted {
  const noted = { id: newTag(), isMade: false }
  const note = JSON.stringify({ count, station: stationName(), time: new Date().toISOString() })
  try {
    files.make(join(directory, INCOMING))
    // Before it has a profile, so that its copies are known. A copy stays one.
    if (identityState(directory, false) === 'none') identityOf(directory)
    files.prepare(pathOf(directory, DRAFT + noted.id), REQUEST, note)
    files.flushDirectory(join(directory, INCOMING))
  } catch (error) {
    release(directory, noted)
    throw diskFailure(`can't write to ${directory}`, error)
  }
  return noted
}

/** No answer came, and nothing was paid for. */
export const release = (directory: string, { id }: Pick<Noted, 'id'>): void =>
  ifPossible(() => files.drop(pathOf(directory, DRAFT + id), REQUEST))

/** The profiles of an answer can't be stored now. */
export class NotStored extends Failure {
  /** Whether the answer is on the disk, and the next call stores them. Otherwise, only this call has it. */
  readonly isPutAside: boolean

  constructor(isPutAside: boolean, directory: string, error: unknown) {
    const hint = isPutAside
      ? 'the next fetch or next stores them; check the disk first'
      : 'make room on the disk, and check the rights and the limits of this user'
    super('disk', `can't store profiles in ${directory}: ${reasonOf(error)}`, hint, error)
    this.isPutAside = isPutAside
  }
}

/**
 * Puts an answer aside durably, then gives each profile its name.
 * @param noted what `request` has returned
 * @param known by their digits, the profiles that the directory has, which are left as they are; what is stored is added
 * @returns how many are new
 * @throws {NotStored}
 */
export async function receive(
  directory: string,
  noted: Noted,
  profiles: readonly StoredProfile[],
  known?: Set<string>,
): Promise<number> {
  const texts = new Map(
    profiles.map(({ iccid, profile }) => [nameOf(iccid), JSON.stringify({ iccid, profile })]),
  )
  const text = [...texts.values()].map((line) => `${line}\n`).join('')
  let isPutAside = false
  try {
    if (text === '') release(directory, noted)
    if (text === '') return 0
    // Who is cleaning up may have taken the draft for one of a killed call. It is paid for, and is put aside again.
    while (!noted.isMade) noted.isMade = putAside(directory, noted.id, ANSWER, text)
    await flushIncoming(directory)
    isPutAside = true
    return (await finishAnswer(directory, noted.id, texts, known)).length
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    throw new NotStored(isPutAside, directory, error)
  }
}

/**
 * Puts aside what is to come. It is not durable yet.
 * @returns false if its draft is gone
 * @throws the system error
 */
function putAside(directory: string, id: string, kind: string, text: string): boolean {
  const draft = pathOf(directory, DRAFT + id)
  files.make(join(directory, INCOMING))
  // Another call may act on an order as soon as it has its name.
  files.flushDirectory(directory)
  if (files.isOnFat(directory)) {
    decideOnStick(pathOf(directory, id), kind, text)
    release(directory, { id })
    return true
  }
  if (files.read(pathOf(directory, id, kind)) === text) return true
  files.remove(join(draft, kind))
  files.prepare(draft, kind, text)
  return files.rename(draft, pathOf(directory, id)) !== false
}

/** Makes durable what was put aside, also where only files can be flushed. */
async function flushIncoming(directory: string): Promise<void> {
  files.flushDirectory(join(directory, INCOMING))
  await files.flushNames(directory)
}

/** @returns undefined if nothing is decided, or if it is finished */
export function givenIn(directory: string, id: string): Given | undefined {
  const { by, items } = fieldsOf(files.read(pathOf(directory, id, 'given', 'list')))
  // A power cut may leave a part of it on a stick.
  if (typeof by !== 'string' || !Array.isArray(items)) return undefined
  try {
    // What is concluded from is durable first, whoever made it.
    files.flushDirectory(join(directory, INCOMING))
    files.flushDirectory(pathOf(directory, id))
    for (const path of [ORDER, join('given', 'list')].map((each) => pathOf(directory, id, each)))
      if (files.exists(path)) files.flushFile(path)
  } catch (error) {
    if (files.isGone(error)) return undefined
    throw error
  }
  return { by, items }
}

/**
 * Decides which profiles come; to give none takes a move back.
 * @param texts those of the files, by X
 * @returns what is decided, by whomever; undefined if it is finished
 */
export async function give(
  directory: string,
  id: string,
  items: readonly Item[],
  texts: ReadonlyMap<string, string>,
): Promise<Given | undefined> {
  const known = givenIn(directory, id)
  if (known !== undefined) return known
  const by = newTag()
  const staged = files.isOnFat(directory) ? [] : items
  const paths = staged.map(({ name }) => pathIn(directory, stagedName(id, by, name)))
  try {
    for (const [at, { name }] of staged.entries()) files.write(paths[at] ?? '', texts.get(name) ?? '')
    await files.flushFiles(paths)
    files.flushDirectory(directory)
  } catch (error) {
    for (const path of paths) files.remove(path)
    // Somebody else may have finished it meanwhile.
    if (files.isGone(error) && !isOpen(directory, id)) return undefined
    throw error
  }
  const decided = decideGiven(directory, id, { by, items })
  // If nothing can be read, the list may stand: what is no longer needed is rubbish after an hour.
  if (decided !== undefined && decided.by !== by) for (const path of paths) files.remove(path)
  return decided
}

function decideGiven(directory: string, id: string, given: Given): Given | undefined {
  const draft = pathOf(directory, id, DRAFT + given.by)
  try {
    if (files.isOnFat(directory)) decideOnStick(pathOf(directory, id, 'given'), 'list', JSON.stringify(given))
    else {
      files.prepare(draft, 'list', JSON.stringify(given))
      files.decide(draft, pathOf(directory, id, 'given'), 'list')
      if (files.exists(draft)) files.drop(draft, 'list')
    }
  } catch (error) {
    if (!files.isGone(error)) throw error
  }
  return givenIn(directory, id)
}

/**
 * Gives each profile its name, unless it is used. It is durable then.
 * @param textOf what the file of a profile says where it comes from: only a stick needs it
 */
export async function arrive(
  directory: string,
  id: string,
  { by, items }: Given,
  textOf: (item: Item) => string | undefined,
): Promise<void> {
  const isStick = files.isOnFat(directory)
  let isSure = items.every(({ tag }) => tag === undefined)
  if (isStick) isSure = await arriveOnStick(directory, items, textOf)
  else
    for (const { name, tag } of items) {
      const staged = pathIn(directory, stagedName(id, by, name))
      const arriveOne = () => files.rename(staged, pathIn(directory, name))
      if (files.exists(pathIn(directory, usedName(name)))) files.remove(staged)
      else if (!guarded(directory, name, arriveOne, `~${newTag()}`)) isSure = false
      // By a move, what is put aside comes home.
      else if (tag !== undefined) files.remove(pathIn(directory, asideName(name)))
    }
  await files.flushNames(directory, ...items.map(({ name }) => pathIn(directory, name)))
  // It came and went on (nothing leaves a stick before the end), or the directory or the stick was away for a moment.
  if (!isSure && (isStick || readdirSync(directory).some((name) => name.startsWith(stagedName(id, by, '')))))
    throw new Failure('disk', `profiles for ${directory} have no names yet`, 'run the same command again')
  dropList(directory)
}

/** Whoever comes later finds nothing to do. */
export function close(directory: string, id: string): void {
  const isStick = files.isOnFat(directory)
  // As long as an order is there, nothing leaves a stick: no error is passed over.
  if (isStick) files.remove(pathOf(directory, id, ORDER))
  else if (!files.rename(pathOf(directory, id), pathOf(directory, CLOSED + id))) return
  sweep(pathOf(directory, isStick ? id : CLOSED + id))
}

/** Removes what is finished, once that is durable. What is left of it does no harm. */
function sweep(path: string): void {
  files.flushDirectory(dirname(path))
  ifPossible(() => {
    const names = files.namesIn(path)
    const scratch = names.filter((name) => name.startsWith('.~'))
    for (const each of [ANSWER, ORDER, REQUEST, ...scratch]) files.remove(join(path, each))
    for (const each of names) files.drop(join(path, each), 'list')
    files.removeEmpty(path)
  })
}

/**
 * Finishes what killed calls have received, and lets come what orders of moves have decided, which their sources end. A
 * call that lives comes to no harm.
 * @throws the system error
 */
export async function finishAnswers(directory: string, messages: Pick<Messages, 'tell'>): Promise<void> {
  for (const id of openIn(directory)) {
    const read = () => files.read(pathOf(directory, id, ANSWER))
    const text = read()
    // An answer that can't be read decides nothing.
    if (text?.endsWith('\n')) {
      const { length } = await finishAnswer(directory, id, textsIn(text))
      if (length > 0)
        messages.tell(0, `stored ${several(length, 'profile')} that an interrupted fetch has received`)
    } else if (files.isOnFat(directory)) {
      // A power cut during its beginning or its end has left it.
      if (!isOpen(directory, id) && !read()?.endsWith('\n')) sweep(pathOf(directory, id))
    } else if (text === undefined) {
      const given = givenIn(directory, id)
      if (given !== undefined) await arrive(directory, id, given, () => undefined)
    }
  }
  for (const name of files.namesIn(join(directory, INCOMING)))
    if (name.startsWith(CLOSED)) sweep(join(directory, INCOMING, name))
}

/** @returns the profiles that came, also if somebody else has stored them */
async function finishAnswer(
  directory: string,
  id: string,
  texts: ReadonlyMap<string, string>,
  known = knownIn(directory),
): Promise<readonly Item[]> {
  const items = [...texts.keys()].flatMap((name) => {
    const iccid = iccidOf(name)
    if (iccid === undefined || known.has(iccid)) return []
    known.add(iccid)
    return { name }
  })
  const given = await give(directory, id, items, texts)
  if (given === undefined) return items
  await arrive(directory, id, given, ({ name }) => texts.get(name))
  close(directory, id)
  return given.items
}

/** The texts of the profiles of an answer, by X. */
function textsIn(answer: string): Map<string, string> {
  const lines = answer.split('\n').map((line) => [fieldsOf(line)['iccid'], line] as const)
  return new Map(lines.flatMap(([iccid, line]) => (typeof iccid === 'string' ? [[nameOf(iccid), line]] : [])))
}

/** What a move wants, put aside in its target. */
export interface Order {
  readonly id: string
  /** The identity of the source, and its path for a person. */
  readonly source: string
  readonly from: string
  /** X of each. */
  readonly names: readonly string[]
}

/** The orders that are not finished, and can be read. */
export const ordersIn = (directory: string): Order[] =>
  openIn(directory).flatMap((id) => {
    const { source, from, names } = fieldsOf(files.read(pathOf(directory, id, ORDER)))
    if (typeof source !== 'string' || typeof from !== 'string' || !Array.isArray(names)) return []
    return { id, source, from, names: names.map(String) }
  })

/**
 * Makes the order of a move. It is durable then.
 * @throws {Failure} `disk` if its draft is gone. It is not made again: it may be done, and what it names may be home by now
 */
export async function putOrder(directory: string, { id, ...order }: Order): Promise<void> {
  if (putAside(directory, id, ORDER, JSON.stringify(order))) return flushIncoming(directory)
  const hint = 'run the same command again; nothing was moved'
  throw new Failure('disk', `the order of the move in ${directory} is gone`, hint)
}

/**
 * Before profiles leave a stick: as long as something is on its way into it, its files may have no contents, and whoever
 * finishes that writes them again.
 * @throws {Failure} `no-profiles`
 */
export async function finishStick(directory: string, messages: Pick<Messages, 'tell'>): Promise<void> {
  await finishAnswers(directory, messages)
  if (ordersIn(directory).length === 0) return
  throw new Failure(
    'no-profiles',
    `a move into ${directory} is not finished`,
    'if it does not run any more, run that command again: it finishes the move; nothing was claimed',
  )
}

/** What is to come, for a person. */
export function waitingIn(directory: string) {
  const texts = openIn(directory).map((id) => files.read(pathOf(directory, id, ANSWER)))
  const drafts = files.namesIn(join(directory, INCOMING)).filter((name) => name.startsWith(DRAFT))
  return {
    /** X of each profile in the answers of the service that are put aside. */
    answers: texts.flatMap((text = '') => [...textsIn(text).keys()]),
    /** Those that have no answer yet, or whose call was killed. */
    requests: drafts.flatMap((name) => {
      const { count, station, time } = fieldsOf(files.read(pathOf(directory, name, REQUEST)))
      return typeof count === 'number' ? { count, station: String(station), time: String(time) } : []
    }),
    orders: ordersIn(directory),
  }
}

export type Waiting = ReturnType<typeof waitingIn>
