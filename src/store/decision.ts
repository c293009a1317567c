/**
 * The one decision of this room: a complete file is created under a name that must be new. It holds on every file
 * system, with and without hard links. The text is written to a new directory, flushed, and that directory is renamed to
 * the one name among the claims that stands for the file: a directory that is not empty is replaced by nobody. From then
 * on it is decided, and whoever finds the claim does the rest: remove what the file replaces, put the file in its place,
 * remove the claim. Each of these steps may be done again by anybody, at any time.
 */
import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, ftruncateSync, mkdirSync, openSync, renameSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { errnoOf } from '../failure.ts'
import { pause } from '../pause.ts'
import {
  exists,
  fileRights,
  keptFromUs,
  lookTwice,
  makeThere,
  namesIn,
  readIfThere,
  removeEmpty,
  removeIfThere,
  renameIfThere,
  rightsOf,
  tryToRemove,
} from './directory-entries.ts'
import {
  FLUSHES_AT_ONCE,
  flushDirectoryIfThere,
  flushDirectorySync,
  flushFileSync,
  flushUnlessGoneSync,
  isOrdered,
  isTested,
  writeAllFlushed,
} from './flush/flush.ts'
import { CLAIMS, type Place, placeOf, usedName } from './names.ts'
import { attempt, ifThere, PAUSE_MS, patiently, TRIES } from './patience.ts'
import { fieldsOf } from './profile-file.ts'

/** What begins so is not decided, and nobody reads it. */
const DRAFT = '~'

/** If a directory is not empty, or in use; over NFS, if this client still knows one that another client has removed. */
const IN_THE_WAY = ['ENOTEMPTY', 'EEXIST', 'EACCES', 'EBUSY', 'EPERM', 'ESTALE']

/** What a claim is: with its key, its text says what becomes of it. */
export interface Creation {
  /** The name that stands for the file among the claims. */
  readonly key: string
  /** The same as that of another call only if both do the same: two calls for one device claim with its record. */
  readonly text: string
}

/** `others`: somebody was first; `unknown`: the disk failed, and the file may be there or come. */
export type Outcome =
  | { readonly state: 'ours' | 'others' }
  | { readonly state: 'unclaimed' | 'unknown'; readonly error: unknown }

/** A text that is decided, on its way to its place. */
interface Claim {
  /** Where the text is once it is decided, until it is in its place. */
  readonly path: string
  readonly text: string
  readonly place: Place
}

interface Draft extends Claim {
  readonly key: string
  /** The directory of its text, until it is decided. */
  home: string
  outcome: Outcome | undefined
}

const OURS: Outcome = { state: 'ours' }
const OTHERS: Outcome = { state: 'others' }

const NOT_PERMITTED = Object.assign(new Error(), { code: 'EPERM' })

/**
 * Creates files, each complete and each only if there is none. What is created is durable once its directory is flushed.
 * @returns what became of each
 * @throws the system error if nothing is created
 */
export async function createAll(directory: string, all: readonly Creation[]): Promise<Outcome[]> {
  if (all.length === 0) return []
  const inTurn = all.length > 1 && isOrdered(directory)
  const together = draftPath(directory, randomUUID())
  const isKept = keptFromUs(directory)
  const drafts = all.map((creation): Draft => {
    const [nonce, place] = [randomUUID(), placeOf(directory, creation)]
    const home = inTurn ? together : draftPath(directory, nonce)
    const path = join(directory, CLAIMS, creation.key, nonce)
    return { ...creation, path, place, home, outcome: beforehand(place, isKept) }
  })
  const open = drafts.filter(({ outcome }) => outcome === undefined)
  await writeDrafts(directory, open)
  if (inTurn) finishInTurn(directory, open, together)
  else finishTogether(directory, open)
  return drafts.map(({ outcome }) => outcome ?? OTHERS)
}

const draftPath = (directory: string, nonce: string) => join(directory, CLAIMS, DRAFT + nonce)

/**
 * Where the disk keeps the order of names, claims take turns with one directory: to make and to remove one for each would
 * make a panel of 300 a tenth slower, and a move of 1,000 a seventh (ext4).
 */
function finishInTurn(directory: string, drafts: readonly Draft[], together: string): void {
  let empty: string | undefined
  for (const draft of drafts) {
    draft.outcome = enclose(directory, draft, empty) ?? decide(draft)
    empty = undefined
    if (draft.outcome !== undefined) continue
    draft.outcome = placeOwn(draft)
    if (draft.outcome === OURS) empty = takeEmpty(directory, draft)
    else if (draft.outcome.state !== 'unknown') clear(directory, draft.key)
  }
  for (const each of [empty ?? together, together]) removeEmpty(each)
}

/**
 * Gives a text a directory of its own, which can become a claim.
 * @returns undefined if it has one now
 */
function enclose(directory: string, draft: Draft, empty?: string): Outcome | undefined {
  const home = empty ?? draftPath(directory, basename(draft.path))
  try {
    if (empty === undefined) mkdirSync(home, { mode: rightsOf(directory) })
    renameSync(textPath(draft), join(home, basename(draft.path)))
    draft.home = home
    return undefined
  } catch (error) {
    drop(draft)
    return { state: 'unclaimed', error }
  }
}

/**
 * Takes the directory of a claim whose file is in its place. Whoever has decided that key since came too late, and finds
 * the file.
 * @returns undefined if somebody else has taken it, or was too late
 */
function takeEmpty(directory: string, { key, path }: Draft): string | undefined {
  const empty = draftPath(directory, basename(path))
  return attempt(() => {
    renameSync(join(directory, CLAIMS, key), empty)
    const late = namesIn(empty)
    for (const name of late) tryToRemove(join(empty, name))
    return late.length === 0 ? empty : void removeEmpty(empty)
  })
}

function finishTogether(directory: string, open: readonly Draft[]): void {
  for (const draft of open) draft.outcome = decide(draft)
  const won = open.filter(({ outcome }) => outcome === undefined)
  // Where the disk keeps the order of names, the flush of the caller is enough.
  const mustFlush = !isOrdered(directory)
  try {
    if (mustFlush && won.length > 0) flushClaims(directory)
    for (const draft of won) draft.outcome = placeOwn(draft)
    if (mustFlush) flushAbove(won)
    // If the disk has failed, the claim may have the only text.
    for (const { key, outcome } of won) if (outcome?.state !== 'unknown') clear(directory, key)
  } catch (error) {
    for (const draft of won) if (draft.outcome !== OTHERS) draft.outcome = { state: 'unknown', error }
  }
}

/** @throws the first error, if something is not created, or may not be */
export function refuseFailures(outcomes: readonly Outcome[]): void {
  for (const outcome of outcomes) if ('error' in outcome) throw outcome.error
}

/** @returns the outcome if the file is there, or if what it replaces can't be removed: Windows lets no rename of that pass */
function beforehand({ path, replaces }: Place, isKept: (path: string) => boolean): Outcome | undefined {
  if (exists(path)) return OTHERS
  try {
    if (replaces !== undefined && isKept(replaces)) throw NOT_PERMITTED
    if (replaces !== undefined && process.platform === 'win32')
      patiently(() => renameSync(replaces, replaces))
    return undefined
  } catch (error) {
    return errnoOf(error) === 'ENOENT' ? undefined : { state: 'unclaimed', error }
  }
}

/** Writes texts under names that nobody reads, and flushes them, all at once where that is known to work. */
async function writeDrafts(directory: string, drafts: readonly Draft[]): Promise<void> {
  const rights = rightsOf(directory)
  // Loading it takes time.
  const module = drafts.length < FLUSHES_AT_ONCE ? undefined : await import('./flush/whole-file-system.ts')
  const fileSystem = module && new module.FileSystemFlush(directory)
  try {
    const homes = new Set(drafts.map(({ home }) => home))
    for (const home of homes) makeHome(directory, home, rights)
    const texts = new Map(drafts.map((draft) => [textPath(draft), draft.text]))
    await writeAllFlushed(texts, fileRights(rights), fileSystem)
    if (!isTested(directory)) homes.forEach(flushDirectorySync)
  } catch (error) {
    drafts.forEach(drop)
    throw error
  }
}

const textPath = ({ home, path }: Draft) => join(home, basename(path))

function makeHome(directory: string, path: string, mode: number): void {
  if (ifThere(() => mkdirSync(path, { mode }) ?? path) !== undefined) return
  makeThere(directory, CLAIMS)
  mkdirSync(path, { mode })
}

function drop(draft: Draft): void {
  tryToRemove(textPath(draft))
  removeEmpty(draft.home)
}

/** @returns undefined if the text is decided */
function decide(draft: Draft): Outcome | undefined {
  try {
    if (isDecided(draft)) return undefined
    drop(draft)
    return OTHERS
  } catch (error) {
    if (!existsSync(textPath(draft))) return { state: 'unknown', error }
    drop(draft)
    return { state: 'unclaimed', error }
  }
}

/** @returns false if another call's text is decided */
function isDecided(draft: Draft): boolean {
  const { home, path, place, text } = draft
  const claim = dirname(path)
  for (let tries = TRIES; ; tries--) {
    try {
      renameSync(home, claim)
      return true
    } catch (error) {
      const texts = attempt(() => namesIn(claim)) ?? []
      // A disk or a server that says no may have done it, and somebody else the rest.
      if (texts.includes(basename(path))) return true
      if (!exists(textPath(draft)) && stateAt(place.path, text) === 'same') return true
      if (texts.length > 0 || exists(place.path) || isTakenByOthers(place)) return false
      if (tries <= 0 || !IN_THE_WAY.includes(errnoOf(error) ?? '')) throw error
      // Windows does not replace an empty directory, and a scanner may have the text.
      removeEmpty(claim)
      if (process.platform === 'win32') pause(PAUSE_MS)
    }
  }
}

function placeOwn(draft: Draft): Outcome {
  try {
    return placeText(draft) || stateAt(draft.place.path, draft.text) === 'same' ? OURS : OTHERS
  } catch (error) {
    return { state: 'unknown', error }
  }
}

/**
 * Finishes claims that somebody has decided, if there are any.
 * @throws the system error
 */
export function settle(directory: string, ...keys: readonly string[]): void {
  const claims = keys.flatMap((key) => claimsOf(directory, key))
  if (claims.length > 0 && !isOrdered(directory)) flushClaims(directory)
  claims.forEach(placeText)
  flushAbove(claims)
  for (const key of keys) clear(directory, key)
}

/** Otherwise, the name of a claim may reach the disk after the removal of what it replaces. */
const flushClaims = (directory: string) => flushDirectorySync(join(directory, CLAIMS))

function flushAbove(all: readonly Claim[]): void {
  for (const above of new Set(all.map(({ place }) => dirname(place.path)))) flushDirectoryIfThere(above)
}

/** The texts of a claim: one, or none. */
export function claimsOf(directory: string, key: string): Claim[] {
  const claim = join(directory, CLAIMS, key)
  return namesIn(claim).flatMap((name) => {
    const path = join(claim, name)
    const text = readIfThere(path)
    return text === undefined ? [] : { path, text, place: placeOf(directory, { key, text }) }
  })
}

/**
 * The keys of claims that are being placed, or were left by killed calls.
 * @throws the system error
 */
export const openClaims = (directory: string): string[] =>
  namesIn(join(directory, CLAIMS)).filter((key) => !key.startsWith(DRAFT))

/**
 * In this order: a tool that only renames takes the unused file, or finds none. From then on, nobody else can be at the
 * place: another text is not decided before this one is there.
 * @returns false if the file may be another's, or in its place already
 */
function placeText({ path: claim, text, place }: Claim): boolean {
  const { path, replaces, isUnused } = place
  const isFree = () => ['none', 'torn'].includes(stateAt(path, text))
  if ((isUnused && !isFree()) || isTakenByOthers(place)) return false
  if (replaces !== undefined) patiently(() => removeIfThere(replaces))
  if (
    !(isTested(dirname(path)) ? isFree() && renameIfThere(claim, path) : fill(openToFill(place, text), text))
  )
    return false
  if (isUnused && isTakenByOthers(place)) patiently(() => removeIfThere(path))
  return true
}

/**
 * What is at the place of a text. Nobody else's gets there before this one is complete. A power cut may leave any bytes of
 * it, and whoever comes late must not take it for torn when another client has completed it.
 */
function stateAt(path: string, text: string): 'none' | 'torn' | 'same' | 'another' {
  const there = lookTwice(
    dirname(path),
    () => readIfThere(path),
    (each) => each !== undefined && isTornFrom(text, each),
  )
  if (there === undefined) return 'none'
  // Whoever wrote it may not have flushed it.
  if (there === text) flushUnlessGoneSync(path)
  return there === text ? 'same' : isTornFrom(text, there) ? 'torn' : 'another'
}

const isTornFrom = (text: string, there: string) =>
  there !== text &&
  (text.startsWith(there) || Object.keys(fieldsOf(there.replace(/^\ufeff/, ''))).length === 0)

/** @returns undefined if the file is complete or claimed, or if it is an entry of a journal that is closed */
function openToFill(place: Place, text: string): number | undefined {
  const { path, replaces } = place
  try {
    const file = patiently(() => openSync(path, 'wx', fileRights(rightsOf(dirname(path)))))
    if (!place.isUnused || !isTakenByOthers(place)) return file
    // Others have put it here since this call looked, and somebody has claimed it.
    closeSync(file)
    patiently(() => removeIfThere(path))
    return undefined
  } catch (error) {
    const state = stateAt(path, text)
    const isClosed = replaces === undefined && ['EEXIST', 'ENOENT'].includes(errnoOf(error) ?? '')
    if (state === 'none' && !isClosed) throw error
    return state === 'torn' ? openTorn(path) : undefined
  }
}

const openTorn = (path: string) => ifThere(() => patiently(() => openSync(path, 'r+')))

/**
 * A power cut may leave neither of two names in two directories. On FAT, a renamed file has no contents on the disk until
 * it is flushed, and may share its clusters with the old name. So without a journal, the text is written where it belongs.
 */
function fill(file: number | undefined, text: string): boolean {
  if (file === undefined) return false
  try {
    writeFileSync(file, text)
    ftruncateSync(file, Buffer.byteLength(text))
    flushFileSync(file)
    return true
  } finally {
    closeSync(file)
  }
}

/** Of a file that is not written to the end, a tool that only renames has printed nothing. Its text is nowhere else. */
function completeUsed({ path, unless }: Place, text: string): void {
  const used = join(dirname(path), usedName(basename(path)))
  if (stateAt(used, text) !== 'torn') return
  if (unless.every((each) => each === used || !exists(each))) fill(openTorn(used), text)
}

/** Removes a claim whose file is in its place, or which came too late. What stays does no harm. */
function clear(directory: string, key: string): void {
  if (removeEmpty(join(directory, CLAIMS, key))) return
  attempt(() => {
    for (const { path, text, place } of claimsOf(directory, key)) {
      const state = stateAt(place.path, text)
      const isDone = state === 'none' ? !exists(dirname(place.path)) : state !== 'torn'
      if (place.isUnused) completeUsed(place, text)
      if (isDone || isTakenByOthers(place)) tryToRemove(path)
    }
  })
  removeEmpty(join(directory, CLAIMS, key))
}

const isTakenByOthers = ({ unless }: Place) => unless.some(exists)
