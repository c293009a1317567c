/**
 * The one decision of this room: a complete file comes to be under a name that must be new. It holds on every file
 * system, with and without hard links. The text is written to a new directory, flushed, and that directory is renamed to
 * the one name among the claims that stands for the file: a directory that is not empty is replaced by nobody. From then
 * on it is decided, and whoever finds the claim does the rest: remove what the file replaces, put the file in its place,
 * remove the claim. Each of these steps may be done again by anybody, at any time.
 */
import { randomUUID } from 'node:crypto'
import {
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { errnoOf } from '../failure.ts'
import { pause } from '../pause.ts'
import { CLAIMS, type Place, placeOf } from './claim-place.ts'
import {
  exists,
  fileRights,
  makeThere,
  namesIn,
  outwaitCaches,
  readIfThere,
  readOutwaiting,
  removeEmpty,
  removeIfThere,
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
import { attempt, ifThere, patiently } from './patience.ts'
import { fieldsOf } from './used-file.ts'

/** What begins so is not decided, and nobody reads it. */
const DRAFT = '~'

/** Another program may have the name for a moment. */
const TRIES = 50
const PAUSE_MS = 20

/** If a directory is not empty, or in use. */
const IN_THE_WAY = ['ENOTEMPTY', 'EEXIST', 'EACCES', 'EBUSY', 'EPERM']

/** What a claim is: with its key, its text says what becomes of it. */
export interface Creation {
  /** The name that stands for the file among the claims. */
  readonly key: string
  /** No other call's text is the same. */
  readonly text: string
}

/** `others`: somebody was first; `unknown`: the disk failed, and the file may be there or come. */
export type Outcome =
  | { readonly state: 'ours' | 'others' }
  | { readonly state: 'unclaimed' | 'unknown'; readonly error: unknown }

interface Draft extends Creation {
  /** The name of its text. */
  readonly nonce: string
  /** The directory of its text, until it is decided. */
  home: string
  readonly place: Place
  outcome?: Outcome
}

const OURS: Outcome = { state: 'ours' }
const OTHERS: Outcome = { state: 'others' }

/**
 * Creates files, each complete and each only if there is none. What is created is durable once its directory is flushed.
 * @returns what became of each
 * @throws the system error if nothing is created
 */
export async function createAll(directory: string, all: readonly Creation[]): Promise<Outcome[]> {
  if (all.length === 0) return []
  const inTurn = isOrdered(directory)
  const batch = join(directory, CLAIMS, DRAFT + randomUUID())
  const drafts = all.map((creation): Draft => {
    const [nonce, place] = [randomUUID(), placeOf(directory, creation)]
    const home = inTurn ? batch : join(directory, CLAIMS, DRAFT + nonce)
    return { ...creation, nonce, home, place, ...beforehand(place) }
  })
  const open = drafts.filter(({ outcome }) => outcome === undefined)
  await writeDrafts(directory, open)
  if (inTurn) finishInTurn(directory, open)
  else finishTogether(directory, open)
  return drafts.map(({ outcome }) => outcome ?? OTHERS)
}

/** The disk keeps the order of names. To make and remove a directory for each claim would take longer than all the rest. */
function finishInTurn(directory: string, drafts: readonly Draft[]): void {
  const [batch = ''] = drafts.map(({ home }) => home)
  let empty: string | undefined
  for (const draft of drafts) {
    decideSafely(directory, draft, drafts.length > 1, empty)
    empty = undefined
    if (draft.outcome !== undefined) continue
    placeSafely(directory, draft)
    if (draft.outcome === OURS && drafts.length > 1) empty = takeEmpty(directory, draft)
    else clear(directory, draft.key)
  }
  if (drafts.length > 1) for (const each of [empty ?? batch, batch]) removeEmpty(each)
}

function finishTogether(directory: string, drafts: readonly Draft[]): void {
  for (const draft of drafts) decideSafely(directory, draft)
  const won = drafts.filter(({ outcome }) => outcome === undefined)
  try {
    if (won.length > 0) flushClaims(directory)
    for (const draft of won) placeSafely(directory, draft)
    flushAbove(won)
    // If the disk has failed, the claim may have the only text.
    for (const { key, outcome } of won) if (outcome?.state !== 'unknown') clear(directory, key)
  } catch (error) {
    for (const draft of won) if (draft.outcome !== OTHERS) draft.outcome = { state: 'unknown', error }
  }
}

/** @returns the outcome if the file is there, or if what it replaces can't be removed: Windows lets no rename of that pass */
function beforehand({ path, replaces }: Place): { outcome?: Outcome } {
  if (exists(path)) return { outcome: OTHERS }
  try {
    if (replaces !== undefined && process.platform === 'win32')
      patiently(() => renameSync(replaces, replaces))
    return {}
  } catch (error) {
    return errnoOf(error) === 'ENOENT' ? {} : { outcome: { state: 'unclaimed', error } }
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

const textPath = ({ home, nonce }: Draft) => join(home, nonce)

function makeHome(directory: string, path: string, mode: number): void {
  if (ifThere(() => mkdirSync(path, { mode }) ?? path) !== undefined) return
  makeThere(directory, CLAIMS)
  mkdirSync(path, { mode })
}

function drop(draft: Draft): void {
  tryToRemove(textPath(draft))
  removeEmpty(draft.home)
}

/** @param empty a directory for it, if it is one of a batch and there is one */
function decideSafely(directory: string, draft: Draft, isOfBatch = false, empty?: string): void {
  let isReady = false
  try {
    if (isOfBatch) enclose(directory, draft, empty)
    isReady = true
    if (!decide(directory, draft)) draft.outcome = OTHERS
  } catch (error) {
    draft.outcome = { state: isReady && !existsSync(textPath(draft)) ? 'unknown' : 'unclaimed', error }
  }
  if (draft.outcome !== undefined && draft.outcome.state !== 'unknown') drop(draft)
}

/** Gives a text of a batch a directory of its own, which can become a claim. */
function enclose(directory: string, draft: Draft, empty?: string): void {
  const home = empty ?? join(directory, CLAIMS, DRAFT + draft.nonce)
  if (empty === undefined) mkdirSync(home, { mode: rightsOf(directory) })
  const text = textPath(draft)
  draft.home = home
  renameSync(text, textPath(draft))
}

/** @returns false if another call's text is decided */
function decide(directory: string, draft: Draft): boolean {
  const { home, key, nonce, place } = draft
  const claim = join(directory, CLAIMS, key)
  for (let tries = TRIES; ; tries--) {
    try {
      renameSync(home, claim)
      return true
    } catch (error) {
      const texts = namesIn(claim)
      // A disk or a server that says no may have done it, and somebody else the rest.
      if (texts.includes(nonce) || (!exists(textPath(draft)) && isThere(draft))) return true
      if (texts.length > 0 || exists(place.path) || isTakenByOthers(place)) return false
      if (tries <= 0 || !IN_THE_WAY.includes(errnoOf(error) ?? '')) throw error
      // Windows does not replace an empty directory, and a scanner may have the text.
      removeEmpty(claim)
      if (process.platform === 'win32') pause(PAUSE_MS)
    }
  }
}

/**
 * Takes the directory of a claim whose file is in its place. Whoever has decided that key since came too late, and finds
 * the file.
 * @returns undefined if somebody else has taken it, or was too late
 */
function takeEmpty(directory: string, { key, nonce }: Draft): string | undefined {
  const empty = join(directory, CLAIMS, DRAFT + nonce)
  return attempt(() => {
    renameSync(join(directory, CLAIMS, key), empty)
    const late = readdirSync(empty)
    if (late.length === 0) return empty
    for (const name of late) tryToRemove(join(empty, name))
    rmdirSync(empty)
    return undefined
  })
}

function placeSafely(directory: string, draft: Draft): void {
  try {
    const isSure = placeText(draft.place, join(directory, CLAIMS, draft.key, draft.nonce), draft.text)
    draft.outcome = isSure || isThere(draft) ? OURS : OTHERS
  } catch (error) {
    draft.outcome = { state: 'unknown', error }
  }
}

/**
 * Finishes claims that somebody has decided, if there are any.
 * @returns their texts
 * @throws the system error
 */
export function settle(directory: string, ...keys: readonly string[]): string[] {
  const claims = keys.flatMap((key) => claimsOf(directory, key))
  if (claims.length > 0) flushClaims(directory)
  for (const { path, text, place } of claims) placeText(place, path, text)
  flushAbove(claims)
  for (const key of keys) clear(directory, key)
  return claims.map(({ text }) => text)
}

/** Otherwise, the name of a claim may reach the disk after the removal of what it replaces. */
function flushClaims(directory: string): void {
  if (!isOrdered(directory)) flushDirectorySync(join(directory, CLAIMS))
}

function flushAbove(all: readonly { readonly place: Place }[]): void {
  for (const above of new Set(all.map(({ place }) => dirname(place.path)))) flushDirectoryIfThere(above)
}

/**
 * Reads what only a claim creates, and finishes the claim before that if it is needed.
 * @returns undefined if there is none
 * @throws the system error
 */
export function readDecided(directory: string, key: string, read: () => string | undefined) {
  for (let before = read(); ; ) {
    if (before?.endsWith('}')) return before
    settle(directory, key)
    if (before !== undefined) outwaitCaches(directory)
    const text = read()
    if (text === before) return text
    before = text
  }
}

/** The texts of a claim: one, or none. */
export function claimsOf(directory: string, key: string) {
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
function placeText(place: Place, claim: string, text: string): boolean {
  const { path, replaces, isUnused } = place
  if ((isUnused && !isFree(path, text)) || isTakenByOthers(place)) return false
  if (replaces !== undefined) patiently(() => removeIfThere(replaces))
  if (!(isTested(dirname(path)) ? isFree(path, text) && moveIn(claim, path) : fill(place, text))) return false
  if (isUnused && isTakenByOthers(place)) patiently(() => removeIfThere(path))
  return true
}

function isFree(path: string, text: string): boolean {
  const there = readIfThere(path)
  // Whoever wrote it may not have flushed it.
  if (there === text) flushUnlessGoneSync(path)
  return there === undefined || isTornFrom(text, there)
}

/** @returns undefined if the file is complete, or if it is an entry of a journal that is closed */
function openToFill({ path, replaces }: Place, text: string): number | undefined {
  try {
    return patiently(() => openSync(path, 'wx', fileRights(rightsOf(dirname(path)))))
  } catch (error) {
    const there = readOutwaiting(path, (each) => isTornFrom(text, each))
    if (
      there === undefined &&
      (replaces !== undefined || !['EEXIST', 'ENOENT'].includes(errnoOf(error) ?? ''))
    )
      throw error
    if (there === text) flushUnlessGoneSync(path)
    if (there === undefined || !isTornFrom(text, there)) return undefined
  }
  return ifThere(() => patiently(() => openSync(path, 'r+')))
}

/** Nobody else's text gets to a place before this one is complete there. A power cut may leave any bytes. */
const isTornFrom = (text: string, there: string) =>
  there !== text &&
  (text.startsWith(there) || Object.keys(fieldsOf(there.replace(/^\ufeff/, ''))).length === 0)

/**
 * A power cut may leave neither of two names in two directories. On FAT, a renamed file has no contents on the disk until
 * it is flushed, and may share its clusters with the old name. So without a journal, the text is written where it belongs.
 */
function fill(place: Place, text: string): boolean {
  const file = openToFill(place, text)
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

/** @returns false if somebody else has done it */
const moveIn = (claim: string, path: string): boolean =>
  ifThere(() => {
    patiently(() => renameSync(claim, path))
    return true
  }) ?? false

/** Removes a claim whose file is in its place, or which came too late. What stays does no harm. */
function clear(directory: string, key: string): void {
  if (removeEmpty(join(directory, CLAIMS, key))) return
  attempt(() => {
    for (const { path, text, place } of claimsOf(directory, key)) {
      const there = readIfThere(place.path)
      const isDone = there === undefined ? !exists(dirname(place.path)) : !isTornFrom(text, there)
      if (isDone || isTakenByOthers(place)) tryToRemove(path)
    }
  })
  removeEmpty(join(directory, CLAIMS, key))
}

const isTakenByOthers = ({ unless }: Place) => unless.some(exists)

/** Whether the file has the text that it was to have. */
const isThere = ({ place, text }: Draft) => readIfThere(place.path) === text
