/**
 * How a profile leaves a directory. A move *claims* it: it creates a tombstone as its used file, and leaves the unused
 * file. So all of a move can be *taken back*, until it is decided whose the profiles are. Only after that, it *completes*
 * each claim: it removes the unused file. A tombstone that was completed stays for ever.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Failure, reasonOf, UnusableProfile } from '../../failure.ts'
import type { Messages } from '../../words.ts'
import { begin, release } from '../claim/claim.ts'
import { decide } from '../claim/take-over.ts'
import { isTakenOver, type Tombstone, tombstoneIn } from '../claim/use.ts'
import { createFrom } from '../devices/draft.ts'
import { flushDirectorySync } from '../flush/directory.ts'
import { flushPathSync } from '../flush/files.ts'
import { Hint } from '../hint.ts'
import { settledName, usedName } from '../names.ts'
import { patiently } from '../patience.ts'
import { removeIfThere } from '../remove.ts'
import { dropDraft, keepDraft, type ListedDraft, listDrafts, type ProfileDraft, useFor } from './drafts.ts'
import { decideMove, endMove, type Move, whoseIs } from './journal.ts'

/**
 * Claims the profiles of drafts that are still unused, unless it is decided meanwhile whose the profiles are.
 * @returns the names of the unused files of those that are the move's
 * @throws {Failure} `disk`
 * @throws the system error
 */
export function claimDrafts(move: Move, drafts: readonly ProfileDraft[], messages: Messages): Set<string> {
  const ours = new Set<string>()
  for (const draft of drafts) {
    const isOurs = useFor(move, draft).isOurs || claimOne(move, draft, messages)
    if (isOurs) ours.add(draft.name)
    else dropIfUseless(move, draft)
  }
  return ours
}

/** Looks at the decision each time: who pauses here adds one profile to the move at most. */
function claimOne(move: Move, draft: ProfileDraft, messages: Messages): boolean {
  const { name, path, text } = draft
  if (tombstoneIn(text) === undefined || whoseIs(move) !== undefined) return false
  if (!beginOne(move, draft, messages)) return false
  // Another call may have taken the move back, or given all that it had before.
  if (whoseIs(move) === 'source') {
    takeOneBack(move, name, messages)
    return false
  }
  if (!existsSync(path)) keepDraft(move, name)
  return true
}

function beginOne({ source }: Move, draft: ProfileDraft, messages: Messages): boolean {
  try {
    return begin(source, draft.name, (used) => {
      // One by one: a power cut may leave one tombstone incomplete, but not all those of the move.
      if (!createFrom(draft, used)) flushPathSync(used)
    })
  } catch (error) {
    if (!(error instanceof UnusableProfile)) throw error
    messages.warn(`${draft.name} is not moved: ${error.message}`)
    return false
  }
}

/**
 * Removes the draft of a profile that the move does not get.
 * @returns false if that is not known yet: another call has begun to claim the profile, which may be one of the move
 */
export function dropIfUseless(move: Move, draft: ListedDraft): boolean {
  const { use, isOurs } = useFor(move, draft)
  if (isOurs || use.state === 'begun') return false
  dropDraft(draft)
  return true
}

/**
 * Completes the claim of a profile whose move is decided for the target.
 * @returns the profile; undefined if it is not the move's: another call or another tool has taken it
 * @throws {Failure} `disk`
 * @throws the system error
 */
export function complete(move: Move, draft: ListedDraft): Tombstone['profile'] | undefined {
  if (!useFor(move, draft).isOurs || !isFree(move, draft)) return undefined
  patiently(() => removeIfThere(join(move.source, draft.name)))
  if (!isFree(move, draft)) return undefined
  // Another tool may have renamed the unused file over the tombstone before that.
  const { use, isOurs } = useFor(move, draft)
  return isOurs && use.state === 'moved' ? use.tombstone.profile : undefined
}

/** Whether no call of an earlier version, to which a tombstone is damaged, has taken the claim over. */
const isFree = ({ source }: Move, { name }: ListedDraft) =>
  !isTakenOver(source, name) || decide(source, name, 'device')

/**
 * Takes back all profiles of a move, unless it is decided for the target. They are unused again.
 * @returns how many there were; undefined if it is decided for the target
 * @throws the system error
 */
export function takeBack(move: Move, messages: Messages): number | undefined {
  if (!decideMove(move, 'source')) return undefined
  let count = 0
  for (const draft of listDrafts(move)) {
    if (takeOneBack(move, draft.name, messages)) count++
    if (!useFor(move, draft).isOurs) dropDraft(draft)
  }
  flushDirectorySync(move.source)
  // Other calls may have passed them.
  Hint.drop(move.source)
  endMove(move)
  return count
}

/**
 * Makes a profile unused again whose move is decided for the source.
 * @returns false if it was already, or if another call is doing that
 * @throws the system error
 */
export function takeOneBack(move: Move, name: string, messages: Messages): boolean {
  const { use, isOurs } = useFor(move, { name })
  if (!isOurs || use.unused === undefined) return false
  try {
    release(move.source, name, (text) => tombstoneIn(text)?.move === move.id)
    return true
  } catch (error) {
    messages.warn(
      `${name.replace(/\.json$/, '')} is set aside: another call did not finish taking it back, or still does (${reasonOf(error instanceof Failure ? error.cause : error)}); when no call is running, remove ${settledName(name)}, and take the move back again`,
    )
    return false
  }
}

export const usedPath = ({ source }: Move, { name }: ListedDraft) => join(source, usedName(name))
