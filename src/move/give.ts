import { Failure, reasonOf, remedyFor } from '../failure.ts'
import { fullPath } from '../full-path.ts'
import { iccidDigits } from '../profile/iccid.ts'
import { flushDirectory } from '../store/flush/directory.ts'
import { flushFiles } from '../store/flush/files.ts'
import { add } from '../store/incoming/add.ts'
import type { StoredProfile } from '../store/incoming/answers.ts'
import { complete, dropIfUseless, usedPath } from '../store/move/claim.ts'
import { dropDraft, type ProfileDraft, readDrafts, useFor } from '../store/move/drafts.ts'
import { endMove, type Move } from '../store/move/journal.ts'
import { several } from '../words.ts'
import type { Run } from './run.ts'

/** As many as a response of the service. */
const AT_ONCE = 1000

/**
 * Gives the profiles of a move to the target, which it is decided for.
 * @throws {Failure} `disk` or `interrupted`; the same command goes on
 * @throws the system error
 */
export async function give(run: Run, move: Move): Promise<void> {
  const drafts = readDrafts(move)
  for (let at = 0; at < drafts.length; at += AT_ONCE) {
    if (run.stop.aborted) {
      const left = several(drafts.length - at, 'profile')
      throw new Failure('interrupted', `interrupted: ${left} in transit`, {
        hint: 'run the same command again: it finishes the move',
      })
    }
    await giveSome(run, move, drafts.slice(at, at + AT_ONCE))
  }
  endMove(move)
}

/** In this order: the source never has a profile that the target may have. */
async function giveSome(run: Run, move: Move, drafts: readonly ProfileDraft[]): Promise<void> {
  const { source, target, receipt, tally, messages } = run
  const claimed = drafts.filter((draft) => useFor(move, draft).isOurs)
  await flushFiles(claimed.map((draft) => usedPath(move, draft)))
  await flushDirectory(source)
  const profiles = new Map<string, StoredProfile>()
  for (const draft of claimed) {
    const profile = complete(move, draft)
    if (profile !== undefined) profiles.set(draft.name, profile)
  }
  await store(run, [...profiles.values()])
  const to = fullPath(target.directory) ?? target.directory
  receipt?.append(
    [...profiles].map(([name, profile]) => ({ iccid: iccidDigits(profile.iccid) ?? '', name, to })),
  )
  for (const draft of drafts) {
    if (profiles.has(draft.name)) dropDraft(draft)
    else if (!dropIfUseless(move, draft))
      messages.warn(`${draft.name} is not moved: another call has begun to claim it`)
  }
  tally.moved += profiles.size
  messages.tell(1, `${tally.moved} moved`)
}

/** As an answer of the service is stored: a crash leaves it to the same command, or to the next call in the target. */
async function store({ target }: Run, profiles: readonly StoredProfile[]): Promise<void> {
  try {
    await add(target, profiles)
  } catch (error) {
    const cause = error instanceof Failure ? error.cause : error
    throw new Failure('disk', `can't store profiles in ${target.directory}: ${reasonOf(cause)}`, {
      hint: `${remedyFor(cause)}, then run the same command again: it finishes the move`,
      cause,
    })
  }
}
