import { Failure, type Fault } from '../failure.ts'
import { readKey } from '../key/private-key.ts'
import { wrongKey } from '../key/decrypt.ts'
import { refuseCopy } from '../store/identity.ts'
import { warnOfUnanswered, warnOfVendorList } from '../store/incoming/recover.ts'
import { whyNoProfile } from '../store/names.ts'
import { whyNone } from '../store/read.ts'
import { type Messages, type Progress, several } from '../words.ts'
import { type Checked, checkProfiles, opensNone } from './check-profiles.ts'
import { type Counts, countAll, countFiles, sum } from './count.ts'
import { type Output, type Summary, statusIn } from './print.ts'
import { warnOfTransit, warnOfUnfinished } from './unfinished.ts'
import { warnOfEach } from './warn.ts'

/** Why files can't be used. */
const FAULTS: Record<Fault, string> = {
  damaged: 'damaged',
  unreadable: "can't be read",
  locked: 'not decrypted by the key',
  unfit: 'rejected by a device',
  held: 'open in another program',
}

export interface Inquiry extends Output {
  readonly directories: readonly string[]
  /** The file of the private key. If given, unused profiles are opened and checked. */
  readonly keyPath: string | undefined
  readonly passphrase: string | undefined
  /** How many profiles to check at most in each directory. */
  readonly count: number
  readonly messages: Messages
  readonly progress: Pick<Progress, 'follow'>
}

/**
 * Prints what is in directories, and changes nothing.
 * @throws {Failure} after printing: `copy`, `no-profiles` if none is unused, `key`, `unusable` or `disk` if none can be used; before it,
 *   if the key or a directory can't be read
 */
export async function showStatus(inquiry: Inquiry): Promise<void> {
  const { directories, keyPath, messages, progress } = inquiry
  const key = keyPath === undefined ? undefined : readKey(keyPath, inquiry.passphrase, messages)
  const all = directories.map((directory) => ({ directory, ...countFiles(directory, messages) }))
  const summaries: Summary[] = []
  const most = ({ length }: { length: number }) => Math.min(inquiry.count, length)
  const goal = several(
    all.reduce((sum, { iccids }) => sum + most(iccids), 0),
    'profile',
  )
  let done = 0
  const onChecked = (more: number) => {
    done += more
  }
  if (key !== undefined) progress.follow(() => `${done} of ${goal} checked`)
  for (const { directory, counts, iccids, identity } of all) {
    const checked =
      key && (await checkProfiles({ directory, iccids, count: most(iccids), key, messages, onChecked }))
    summaries.push({ directory, counts, checked, identity })
  }
  const total = totalOf(summaries, countAll(all, messages))
  const lines = summaries.length > 1 ? [...summaries, total] : summaries
  await inquiry.print(statusIn(inquiry.format, lines))
  for (const { directory, counts, unfinished, inTransit, notProfiles, unanswered } of all) {
    warnOfUnfinished(directory, unfinished, messages)
    warnOfTransit(inTransit, messages)
    warnOfEach(messages, notProfiles, {
      words: (name) => `${name} is no profile: ${whyNoProfile(name)}`,
      more: () => `${counts.notProfiles} files are no profiles`,
    })
    if (unanswered !== undefined) warnOfUnanswered(unanswered, messages)
    warnOfVendorList(directory, messages)
  }
  for (const each of directories) refuseCopy(each)
  const [first = ''] = directories
  const place = directories.join(', ')
  const { counts, checked } = total
  // Stations may have taken all of them since they were counted.
  if (counts.unused === 0 || checked?.checked === 0)
    throw new Failure(whyNone(first, counts.used, counts.moved > 0), `no unused profile in ${place}`)
  if (checked === undefined || key === undefined) return
  if (opensNone(checked)) throw wrongKey(key, checked.faults.locked, false)
  if (checked.usable === 0) throw noneUsable(checked, place)
  for (const fault of Object.keys(FAULTS) as Fault[]) {
    const count = checked.faults[fault]
    if (count > 0) messages.warn(`${several(count, 'file')} ${FAULTS[fault]}`, fault)
  }
}

function noneUsable({ checked, faults: { held, unreadable }, unread }: Checked, place: string): Failure {
  if (unreadable > 0) {
    const what = several(unreadable, 'unused profile')
    return new Failure('unreadable', `${what} in ${place} can't be read`, unread)
  }
  if (held === checked) {
    const facts = { kind: 'all-held', claims: false } as const
    return new Failure(facts, `other programs have all unused profiles in ${place} open`)
  }
  return new Failure('none-checked-usable', `none of the checked profiles in ${place} can be used`)
}

function totalOf(summaries: readonly Summary[], counts: Counts): Summary {
  const all = summaries.flatMap(({ checked }) => checked ?? [])
  if (all.length === 0) return { directory: null, counts, checked: undefined, identity: null }
  const { checked, usable } = sum(all.map(({ checked, usable }) => ({ checked, usable })))
  const unread = all.find((each) => each.unread !== undefined)?.unread
  return {
    directory: null,
    counts,
    checked: { checked, usable, faults: sum(all.map(({ faults }) => faults)), unread },
    identity: null,
  }
}
