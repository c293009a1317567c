import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../failure.ts'
import { iccidDigits } from '../profile/iccid.ts'
import type { Use } from '../store/claim.ts'
import { recordsOf } from '../store/devices.ts'
import { distinct } from '../store/directory-entries.ts'
import { checkDirectory, looking } from '../store/listing.ts'
import { fatesIn } from '../store/move-journal.ts'
import { fileName, usedName } from '../store/names.ts'
import { deviceIn, fieldsOf, tombstoneIn } from '../store/profile-file.ts'
import type { Messages } from '../words.ts'
import { type Output, printList } from './print.ts'
import { readRecords, useIn, warnOfRecords, warnOfTransit, warnOfUnfinished } from './records.ts'

const MOST_NAMED = 20

/** A profile that was asked for. Null is what is not recorded. */
interface Found {
  /** RFC 3339. */
  readonly claimed: string | null
  readonly station: string | null
  readonly device: string | null
  readonly iccid: string
  /** Null if the file is gone, and only the record of the device is left; then no state is known either. */
  readonly file: string | null
  readonly state: State | null
  /** The directory that has it now, or is about to. */
  readonly movedTo: string | null
}

type State = 'unused' | 'claimed' | 'used' | 'moved' | 'inTransit'

/** `changed` is when the file was last renamed or changed. A copy from a backup has a time of its own. */
const FIELDS = [
  ...(['claimed', 'station', 'device', 'iccid', 'file', 'changed', 'state', 'movedTo'] as const),
  'directory',
] as const

interface Search extends Output {
  readonly directories: readonly string[]
  /** Serial numbers. */
  readonly devices: readonly string[]
  /** Without a filler. */
  readonly iccids: readonly string[]
}

/**
 * Prints the profiles of these devices and these ICCIDs, and changes nothing.
 * @throws {Failure} `no-profiles`, after printing the others, if there is none for one of them; `disk`
 */
export async function showProfiles(search: Search): Promise<void> {
  const { messages } = search
  const directories = distinct(search.directories)
  const [devices, iccids] = [[...new Set(search.devices)], [...new Set(search.iccids)]]
  for (const directory of directories) checkDirectory(directory)
  const found = directories.flatMap((directory) => {
    const ofDevices = devices.length === 0 ? [] : findDevices(directory, devices, messages)
    const ofIccids = iccids.flatMap((iccid) => findIccid(directory, iccid, messages) ?? [])
    const all = [...ofDevices, ...ofIccids]
    return all.map((each) => ({ ...each, changed: changedAt(directory, each.file), directory }))
  })
  if (found.length > 0) await printList(search, FIELDS, found, directories)
  const missing = [
    ...devices.filter((each) => !found.some(({ device }) => device === each)).map((each) => `device ${each}`),
    ...iccids.filter((each) => !found.some(({ iccid }) => iccid === each)).map((each) => `ICCID ${each}`),
  ]
  if (missing.length === 0) return
  const more = missing.length > MOST_NAMED ? `, and ${missing.length - MOST_NAMED} more` : ''
  const named = missing.slice(0, MOST_NAMED).join(', ')
  throw new Failure('nobodys', `no profile in ${directories.join(', ')} for ${named}${more}`)
}

/** In the order in which they are asked for. All used files are read: the record of a device may be missing. */
function findDevices(directory: string, asked: readonly string[], messages: Messages): Found[] {
  const records = readRecords(directory)
  warnOfRecords(records, messages, asked)
  const wanted = new Set(asked)
  const found = records.devices
    .filter(({ device }) => wanted.has(device))
    .map((each) => ({ ...each, movedTo: null, unfinished: unfinishedOf(useIn(directory, each.iccid)) }))
  const unfinished = found.flatMap((each) => each.unfinished)
  warnOfUnfinished(directory, unfinished, messages)
  const states = found.map((each): Found => ({ ...each, state: usedOr(each.unfinished) }))
  const byDevice = Map.groupBy(states, ({ device }) => device)
  return asked.flatMap((device) => byDevice.get(device) ?? recordedFor(directory, device, messages) ?? [])
}

/** What the last record of a device says, if no used file names the device. */
function recordedFor(directory: string, device: string, messages: Messages): Found | undefined {
  const [text] = recordsOf(directory, device)
  if (text === undefined) return undefined
  const iccid = iccidDigits(String(fieldsOf(text)['iccid'])) ?? ''
  messages.warn(`device ${device} is recorded for ${iccid}, but no used file names it`)
  const { file = null, state = null, movedTo = null } = findIccid(directory, iccid, messages) ?? {}
  return { ...wordsOf(text), iccid, file, state, movedTo }
}

/** @returns undefined if there is no such profile */
function findIccid(directory: string, iccid: string, messages: Messages): Found | undefined {
  const use = useIn(directory, iccid, () =>
    messages.warn(`${usedName(fileName(iccid))} can't be read: who has the profile is not known`),
  )
  const nobodys = { ...wordsOf(''), iccid, movedTo: null }
  if (use.state === 'gone') return undefined
  if (use.state === 'unused') return { ...nobodys, file: use.name, state: 'unused' }
  const file = use.state === 'claimed' ? null : usedName(use.name)
  const tombstone = tombstoneIn(use.text)
  if (tombstone === undefined) {
    const unfinished = unfinishedOf(use)
    warnOfUnfinished(directory, unfinished, messages)
    return { ...nobodys, ...wordsOf(use.text), file, state: usedOr(unfinished) }
  }
  const fate = looking(directory, () => fatesIn(directory)(usedName(use.name), tombstone)) ?? 'moved'
  messages.tell(0, `${iccid} is ${fate} to ${tombstone.to}`)
  if (fate === 'in transit') warnOfTransit([tombstone.to], new Map([[use.name, tombstone.to]]), messages)
  return { ...nobodys, file, state: fate === 'moved' ? fate : 'inTransit', movedTo: tombstone.to }
}

/** The unused file of a claim that is not finished. */
const unfinishedOf = (use: Use): string[] =>
  use.state === 'claimed' || ((use.state === 'used' || use.state === 'torn') && use.hasTwin) ? [use.name] : []

const usedOr = (unfinished: readonly string[]) => (unfinished.length === 0 ? 'used' : 'claimed')

/** What a used file or a record says of its device. */
function wordsOf(text: string): Pick<Found, 'claimed' | 'station' | 'device'> {
  const { claimed, station } = fieldsOf(text)
  return { claimed: textOrNull(claimed), station: textOrNull(station), device: deviceIn(text) ?? null }
}

const textOrNull = (value: unknown) => (typeof value === 'string' ? value : null)

function changedAt(directory: string, file: string | null): string | null {
  const status = file === null ? undefined : lstatSync(join(directory, file), { throwIfNoEntry: false })
  return status?.ctime.toISOString() ?? null
}
