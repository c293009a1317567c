/** One call of `status`. It changes nothing. */
import { Failure } from '../failure.ts'
import { LOCKED, readKey, wrongKey } from '../key/private-key.ts'
import { copyFailure, identityState } from '../store/directory.ts'
import { type Progress, printable, several } from '../words.ts'
import { checkProfiles, isWrongKey } from './check.ts'
import { countsOf, readNames, warnOfNames } from './count.ts'
import { listDevices } from './devices.ts'
import { type Search, showProfiles } from './look-up.ts'
import { inWords, type Row, TABLES } from './print.ts'

export interface Inquiry extends Search {
  /** If given, unused profiles are opened and checked. */
  readonly keyPath: string | undefined
  readonly passphrase: string | undefined
  /** How many profiles to check at most. */
  readonly count: number
  /** Which devices to list, by their last results. */
  readonly list: 'all' | 'passed' | 'not-passed' | undefined
  readonly progress: Pick<Progress, 'follow'>
}

/** The fields of `json` and `csv`, in this order: newer ones come last. */
const FIELDS = [
  ...['directory', 'unused', 'used', 'held', 'inTransit', 'coming', 'unanswered', 'aside', 'notProfiles'],
  ...['checked', 'usable', 'damaged', 'locked', 'unfit', 'unreadable', 'identity'],
]

/**
 * Prints what is in a directory, and changes nothing.
 * @throws {Failure} after printing: `copy`; `no-profiles` if none is unused, or nothing is known of a device or an ICCID;
 *   `key` if the key does not decrypt several; `unusable` or `disk` if none of the checked ones can be used. Before it, if
 *   the key or the directory can't be read
 */
export async function showStatus(inquiry: Inquiry): Promise<void> {
  const { devices, iccids, list } = inquiry
  if (devices.length + iccids.length > 0) await showProfiles(inquiry)
  else if (list !== undefined) await listDevices({ ...inquiry, list })
  else await showCounts(inquiry)
}

async function showCounts({ directory, messages, progress, format, ...inquiry }: Inquiry): Promise<void> {
  const key =
    inquiry.keyPath === undefined ? undefined : readKey(inquiry.keyPath, inquiry.passphrase, messages)
  const names = readNames(directory, messages)
  const identity = identityState(directory)
  const toCheck = names.unused.slice(0, inquiry.count)
  const checked = key && (await checkProfiles(directory, toCheck, key, { messages, progress }))
  const counts = countsOf(names)
  const row = { directory, ...counts, ...checked, identity }
  await inquiry.print(format === 'text' ? linesOf(row) : TABLES[format](FIELDS, [row]))
  warnOfNames(directory, names, messages)
  if (identity === 'unused-copy')
    messages.warn(`${directory} is a copy of a directory that nobody has used yet: use only one of them`)
  if (identity === 'copy') throw copyFailure(directory)
  // Stations may have taken all of them since they were counted.
  if (counts.unused === 0 || checked?.checked === 0) {
    const isElsewhere = counts.held + counts.inTransit + counts.aside > 0
    const isUsed =
      counts.used > 0
        ? 'all that were here are used, or have moved'
        : 'check its name, and that its disk is there'
    const why = isElsewhere ? 'the numbers say where they are' : isUsed
    const hint = counts.coming > 0 ? 'the warnings say what brings some' : `${why}; softsim fetch gets some`
    throw new Failure('no-profiles', `no unused profile in ${directory}`, hint)
  }
  if (key === undefined || checked === undefined) return
  // A call of `next` that finds them first would end.
  if (isWrongKey(checked) || checked.locked >= LOCKED) throw wrongKey(key, checked.locked)
  if (checked.usable > 0) return
  const what = `none of ${several(checked.checked, 'checked profile')} in ${directory} can be used`
  throw new Failure(checked.unreadable > 0 ? 'disk' : 'unusable', what, 'the warnings say why, file by file')
}

/** A line for each number that is not 0, and always one for the unused profiles. */
function linesOf({ directory, identity, ...numbers }: Row): string {
  const lines = Object.entries(numbers)
    .filter(([field, number]) => field === 'unused' || number)
    .map(([field, number]) => `  ${inWords(field).padEnd(13)} ${String(number).padStart(9)}\n`)
  return `${printable(String(directory))}\n${lines.join('')}`
}
