import { join } from 'node:path'
import { Failure, type Fault, UnusableProfile } from '../failure.ts'
import { type Decrypt, decryptor, wrongKey } from '../key/decrypt.ts'
import { type PrivateKey, readKey } from '../key/private-key.ts'
import {
  missingKeys,
  NRF_REJECTS,
  newerProblems,
  parsePlaintext,
  parseStored,
  refuseOutdated,
} from '../profile/validate.ts'
import { distinct } from '../store/directory-entries.ts'
import { refuseCopy } from '../store/identity.ts'
import { countKept, INCOMING } from '../store/incoming/answers.ts'
import { warnOfUnanswered, warnOfVendorList } from '../store/incoming/recover.ts'
import { whyNone } from '../store/listing.ts'
import { fileName, whyNoProfile } from '../store/names.ts'
import { readProfile, refuseAssigned } from '../store/profile-file.ts'
import { type Messages, type Progress, printable, several } from '../words.ts'
import { countAll, countFiles, sum } from './count.ts'
import { type Format, inWords, type Output, type Row, TABLES } from './print.ts'
import { MOST_WARNINGS, warnOfEach, warnOfTransit, warnOfUnfinished } from './records.ts'

/** Why files can't be used. */
const FAULTS: Record<Fault, string> = {
  damaged: 'damaged',
  unreadable: "can't be read",
  locked: 'not decrypted by the key',
  unfit: 'rejected by a device',
  held: 'open in another program',
}

/** How many unused profiles were opened, how many of them a device would accept, and what is wrong with the others. */
type Checked = Record<'checked' | 'usable' | Fault, number>

/** The fields of `json` and `csv`, in this order: newer ones come last. */
const FIELDS = [
  ...['directory', 'unused', 'used', 'unfinished', 'notProfiles', 'received', 'checked', 'usable'],
  ...['damaged', 'locked', 'unfit', 'held', 'moved', 'inTransit', 'unreadable', 'identity', 'unanswered'],
]

/** What `text` says of a directory that is not itself. */
const COPIES = new Map<Row[string], string>([
  ['copy', 'a copy, or from a backup: nothing is handed out of it'],
  ['carried', 'a copy of a directory that was not used: use only one of them'],
])

/** With a newline at its end. In `text`, numbers are in the order in which they are counted. */
function statusIn(format: Format, rows: readonly Row[]): string {
  if (format !== 'text') return [...TABLES[format](FIELDS, rows)].join('')
  const blocks = rows.map(({ directory = 'total', identity, ...numbers }) => {
    const copy = COPIES.get(identity)
    // Only the unused ones are worth a line if there are none.
    const lines = Object.entries(numbers)
      .filter(([name, number]) => name === 'unused' || number)
      .map(([name, number]) => `  ${inWords(name).padEnd(13)} ${String(number).padStart(9)}\n`)
    return `${printable(String(directory))}\n${copy ? `  ${copy}\n` : ''}${lines.join('')}`
  })
  return blocks.join('')
}

export interface Inquiry extends Output {
  readonly directories: readonly string[]
  /** The file of the private key. If given, unused profiles are opened and checked. */
  readonly keyPath: string | undefined
  readonly passphrase: string | undefined
  /** How many profiles to check at most in each directory. */
  readonly count: number
  readonly progress: Pick<Progress, 'follow'>
}

/**
 * Prints what is in directories, and changes nothing.
 * @throws {Failure} after printing: `copy`, `no-profiles` if none is unused, `key`, `unusable` or `disk` if none can be used; before it,
 *   if the key or a directory can't be read
 */
export async function showStatus(inquiry: Inquiry): Promise<void> {
  const { keyPath, messages, progress } = inquiry
  const directories = distinct(inquiry.directories)
  const key = keyPath === undefined ? undefined : readKey(keyPath, inquiry.passphrase, messages)
  const all = directories.map((directory) => {
    const found = countFiles(directory, messages)
    return { directory, ...found, toCheck: found.iccids.slice(0, inquiry.count) }
  })
  const rows: Row[] = []
  const results: Checked[] = []
  let unread: UnusableProfile | undefined
  const goal = several(
    all.reduce((sum, { toCheck }) => sum + toCheck.length, 0),
    'profile',
  )
  let done = 0
  const onChecked = () => {
    done++
  }
  if (key !== undefined) progress.follow(() => `${done} of ${goal} checked`)
  for (const { directory, counts, identity, toCheck } of all) {
    const found = key && (await checkProfiles(directory, toCheck, key, { messages, onChecked }))
    results.push(...(found ? [found.result] : []))
    rows.push({ directory, identity, ...counts, ...found?.result })
    unread ??= found?.unread
  }
  const checked = results.length > 0 ? sum(results) : undefined
  const counts = countAll(all)
  if (rows.length > 1) rows.push({ ...counts, ...checked })
  await inquiry.print(statusIn(inquiry.format, rows))
  for (const { directory, counts, unfinished, goingTo, inTransit, notProfiles, unanswered } of all) {
    warnOfUnfinished(directory, unfinished, messages)
    warnOfTransit(goingTo, inTransit, messages)
    warnOfEach(messages, notProfiles, {
      words: (name) => `${name} is no profile: ${whyNoProfile(name)}`,
      more: () => `${counts.notProfiles} files are no profiles`,
    })
    if (unanswered !== undefined) warnOfUnanswered(unanswered, messages)
    const kept = countKept(directory)
    if (kept > 0)
      messages.warn(
        `${several(kept, 'answer')} that could not be read in ${join(directory, INCOMING)}`,
        'kept',
      )
    warnOfVendorList(directory, messages)
  }
  if (all.reduce((total, each) => total + each.counts.unused, 0) > counts.unused)
    messages.warn('profiles are unused in more than one of these directories: use only one of them')
  for (const each of directories) refuseCopy(each)
  const [first = ''] = directories
  const place = directories.join(', ')
  // Stations may have taken all of them since they were counted.
  if (counts.unused === 0 || checked?.checked === 0)
    throw new Failure(
      counts.received > 0
        ? { kind: 'received', count: counts.received }
        : whyNone(first, counts.used, counts.moved > 0),
      `no unused profile in ${place}`,
    )
  if (checked === undefined || key === undefined) return
  if (opensNone(checked)) throw wrongKey(key, checked.locked, false)
  if (checked.usable === 0) throw noneUsable(checked, place, unread)
  for (const fault of Object.keys(FAULTS) as Fault[]) {
    const count = checked[fault]
    if (count > 0) messages.warn(`${several(count, 'file')} ${FAULTS[fault]}`, fault)
  }
}

function noneUsable(
  { checked, held, unreadable }: Checked,
  place: string,
  unread: UnusableProfile | undefined,
): Failure {
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

/** Enough to keep all processors busy. */
const AT_ONCE = 64

/** What a device would get by default, in `hex`. */
const OPTIONS = { smsp: false, smsc: true, crc: true }

/** Whether the key is wrong: there is something to decrypt, and it decrypts nothing. */
const opensNone = ({ usable, locked, unfit }: Checked) => locked > 0 && usable + unfit === 0

/**
 * Opens unused profiles without claiming them, and names those that can't be used.
 * @param onChecked called for each of them
 * @returns also why the last of the unreadable ones can't be read
 */
async function checkProfiles(
  directory: string,
  iccids: readonly string[],
  key: PrivateKey,
  { messages, onChecked }: { messages: Messages; onChecked: () => void },
) {
  const count = iccids.length
  const result: Checked = { checked: 0, usable: 0, damaged: 0, unreadable: 0, locked: 0, unfit: 0, held: 0 }
  let unread: UnusableProfile | undefined
  const decrypt = await decryptor(key, count)
  const warnings: string[] = []
  let withoutKeys = 0
  for (let at = 0; at < count; at += AT_ONCE) {
    const names = iccids.slice(at, at + AT_ONCE).map(fileName)
    const results = await Promise.all(
      names.map(async (name) => [name, await open(directory, name, decrypt)] as const),
    )
    for (const [name, found] of results) {
      // A station has claimed it in the meantime.
      if (found === undefined) continue
      result.checked++
      onChecked()
      if (!(found instanceof UnusableProfile)) {
        result.usable++
        if (found.length > 0) withoutKeys++
        continue
      }
      result[found.fault]++
      if (found.fault === 'unreadable') unread = found
      const warning = `${name}: ${found.message}`
      if (warnings.length < MOST_WARNINGS) warnings.push(warning)
      else messages.tell(1, warning)
    }
    // All of them can take long, and most likely it is the wrong key.
    if (at === 0 && count > AT_ONCE && opensNone(result))
      messages.warn('the key does not decrypt the first profiles', 'locked-first')
  }
  for (const warning of warnings) messages.warn(warning)
  const more = result.checked - result.usable - warnings.length
  if (more > 0) messages.warn(`${more} more can't be used`, 'unlisted')
  if (withoutKeys > 0) messages.warn(`${several(withoutKeys, 'profile')} without KIC or KID: ${NRF_REJECTS}`)
  return { result, unread }
}

/** @returns the keys that a usable profile does without; why it can't be used; undefined if there is no such file */
async function open(
  directory: string,
  name: string,
  decrypt: Decrypt,
): Promise<string[] | UnusableProfile | undefined> {
  try {
    const text = readProfile(directory, name)
    if (text === undefined) return undefined
    refuseAssigned(text)
    const sealed = parseStored(name, text)
    const profile = parsePlaintext(sealed, await decrypt(sealed.ciphertext), OPTIONS)
    refuseOutdated(newerProblems(profile, true))
    return missingKeys(profile)
  } catch (error) {
    if (error instanceof UnusableProfile) return error
    throw error
  }
}
