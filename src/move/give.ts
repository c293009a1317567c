import { Failure, reasonOf } from '../failure.ts'
import { fullPath } from '../full-path.ts'
import { iccidDigits } from '../profile/iccid.ts'
import { flushDirectory } from '../store/flush/directory.ts'
import { flushFiles } from '../store/flush/files.ts'
import { add } from '../store/incoming/add.ts'
import type { StoredProfile } from '../store/incoming/answers.ts'
import { finishFetches } from '../store/incoming/recover.ts'
import type { Target } from '../store/incoming/target.ts'
import { complete, dropIfUseless, usedPath } from '../store/move/claim.ts'
import { type ListedDraft, listDrafts, useFor } from '../store/move/drafts.ts'
import type { Move } from '../store/move/journal.ts'
import { type Messages, several } from '../words.ts'
import type { Run } from './run.ts'

/** How many the target puts aside together: as many as a response of the service has. */
export const AT_ONCE = 1000

/**
 * Gives the profiles of a move to the target, which it is decided for.
 * @returns the drafts of those that the target has now
 * @throws {Failure} `disk` or `interrupted`; the same command goes on
 * @throws the system error
 */
export async function give(run: Run, move: Move): Promise<ListedDraft[]> {
  // Two calls may have made one each for a profile.
  const drafts = [...Map.groupBy(listDrafts(move), ({ name }) => name).values()]
  const given: ListedDraft[] = []
  for (let at = 0; at < drafts.length; at += AT_ONCE) {
    if (run.stop.aborted) {
      const left = several(drafts.length - at, 'profile')
      throw new Failure('interrupted-move', `interrupted: ${left} in transit`)
    }
    given.push(...(await giveSome(run, move, drafts.slice(at, at + AT_ONCE).flat())))
  }
  return given
}

/** In this order: the source never has a profile that the target may have. */
async function giveSome(run: Run, move: Move, drafts: readonly ListedDraft[]) {
  const { source, target, receipt, tally, messages } = run
  const claimed = drafts.filter((draft) => useFor(move, draft).isOurs)
  await flushFiles(claimed.map((draft) => usedPath(move, draft)))
  await flushDirectory(source)
  const profiles = new Map<string, StoredProfile>()
  for (const draft of claimed) {
    const profile = complete(move, draft)
    if (profile !== undefined) profiles.set(draft.name, profile)
  }
  await flushDirectory(source)
  const isGiven = ({ name }: ListedDraft) => profiles.has(name)
  const known = new Set(await store(run, [...profiles.values()]))
  const to = fullPath(target.directory) ?? target.directory
  receipt?.append(
    [...profiles].map(([name, { iccid }]) => ({
      iccid: iccidDigits(iccid) ?? '',
      name,
      to: { directory: to, move: move.id },
      isAgain: known.has(iccid),
    })),
  )
  const [given, others] = [drafts.filter(isGiven), drafts.filter((draft) => !isGiven(draft))]
  for (const draft of others) {
    if (!dropIfUseless(move, draft))
      messages.warn(`${draft.name} is not moved: another call has begun to claim it`)
  }
  tally.moved += profiles.size
  messages.tell(1, `${tally.moved} moved`)
  return given
}

/**
 * As an answer of the service is stored: a crash leaves it to the same command, or to the next call in the target.
 * @returns the ICCIDs of those that the target already had, because an interrupted call gave them
 */
async function store({ target }: Run, profiles: readonly StoredProfile[]): Promise<readonly string[]> {
  try {
    return (await add(target, profiles)).known
  } catch (error) {
    throw notStored(target.directory, error)
  }
}

/**
 * Stores what interrupted calls have put aside in the target. Without that, each call of a move would put its profiles
 * aside once more.
 * @throws {Failure} `disk`
 */
export async function storePutAside({ directory }: Target, messages: Messages): Promise<void> {
  try {
    await finishFetches(directory, messages)
  } catch (error) {
    throw notStored(directory, error)
  }
}

function notStored(directory: string, error: unknown): Failure {
  let cause = error
  while (cause instanceof Failure) cause = cause.cause
  const facts = { kind: 'unfinished-move', directory } as const
  return new Failure(facts, `can't store profiles in ${directory}: ${reasonOf(cause)}`, cause)
}
