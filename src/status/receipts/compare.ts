import { Failure } from '../../failure.ts'
import { movesInto } from '../../store/moves.ts'
import { fileName, usedName } from '../../store/names.ts'
import { looking } from '../../store/read.ts'
import { tombstoneIn } from '../../store/use.ts'
import { type Messages, several } from '../../words.ts'
import { readRecords, warnOfUnreadable } from '../devices.ts'
import { lookAt } from '../look.ts'
import { type Output, printList } from '../print.ts'
import { warnOfEach } from '../warn.ts'
import { type Contradiction, contradictionsIn, type Place, type Problem } from './contradictions.ts'
import { type Receipt, readReceipts, withoutCopies } from './read.ts'

const FIELDS = ['problem', 'iccid', 'device', 'time', 'source', 'file'] as const

export interface Comparison extends Output {
  readonly directory: string
  /** The files of receipts of all stations. */
  readonly files: readonly string[]
  readonly messages: Messages
}

/**
 * Holds receipts against each other and against a directory, and prints what contradicts. It changes nothing.
 * @throws {Failure} `unusable` after printing; `no-profiles` if the directory has none of the profiles; `usage` or `disk` if a
 *   file or the directory can't be read
 */
export async function compareReceipts(comparison: Comparison): Promise<void> {
  const { directory, files, messages } = comparison
  // Before the directory: a claim is complete before its receipt is written, so stations may go on meanwhile.
  const read = [...new Set(files)].map(readReceipts)
  const receipts = withoutCopies(read.flatMap((each) => each.receipts))
  warnOfEach(
    messages,
    read.flatMap(({ torn }) => torn),
    {
      words: (source) => `${source} is not a complete receipt`,
      more: (others) => `${others} more receipts are not complete`,
    },
  )
  const places = placesOf(directory, receipts, messages)
  const arrived = arrivedIn(directory, receipts)
  const found = contradictionsIn(
    receipts.filter(({ iccid, move }) => move === undefined || !arrived.has(iccid)),
    places,
  )
  if (found.length > 0) await printList(comparison, FIELDS, found)
  tellOfOthers(directory, receipts, places, messages)
  if (found.length > 0) {
    throw new Failure(
      'contradiction',
      `the receipts contradict each other or ${directory}: ${summary(found)}`,
    )
  }
  if (receipts.length > 0 && !receipts.some(({ iccid }) => places.has(iccid))) {
    throw new Failure('other-receipts', `${directory} has none of the profiles that the receipts name`)
  }
}

/**
 * The ICCIDs that were moved to a directory, and not on from it: they may be unused there. Its path may be another one
 * today, so that only its own marks tell.
 * @throws {Failure} as `readUnused`
 */
function arrivedIn(directory: string, receipts: readonly Receipt[]): Set<string> {
  const marks = looking(directory, () => movesInto(directory))
  const last = new Map<string, Receipt>()
  for (const each of receipts) {
    const { iccid, time, move } = each
    if (move !== undefined && time >= (last.get(iccid)?.time ?? '')) last.set(iccid, each)
  }
  return new Set([...last.values()].filter(({ move }) => marks.has(move ?? '')).map(({ iccid }) => iccid))
}

/** Where the directory has what receipts or used files name. */
function placesOf(directory: string, receipts: readonly Receipt[], messages: Messages): Map<string, Place> {
  const { devices, unreadable } = readRecords(directory)
  warnOfUnreadable(unreadable, messages)
  const places = new Map<string, Place>(
    devices
      .filter(({ iccid }) => iccid !== '')
      .map(({ iccid, device, claimed, file }) => {
        const statement = { iccid, device, time: claimed, source: file, again: true }
        return [iccid, { state: 'used', file, statement }]
      }),
  )
  for (const { iccid } of receipts) {
    if (places.has(iccid)) continue
    const place = placeOf(directory, iccid)
    if (place !== undefined) places.set(iccid, place)
  }
  return places
}

function placeOf(directory: string, iccid: string): Place | undefined {
  const use = lookAt(directory, iccid)
  if (use === undefined) return { state: 'used', file: usedName(fileName(iccid)), statement: undefined }
  if (use.state === 'gone') return undefined
  if (use.state === 'unused') return { state: 'unused', file: use.name, statement: undefined }
  const isMoved = use.state !== 'torn' && tombstoneIn(use.text) !== undefined
  return { state: isMoved ? 'moved' : 'used', file: usedName(use.name), statement: undefined }
}

/** What is no contradiction, but worth knowing. */
function tellOfOthers(
  directory: string,
  receipts: readonly Receipt[],
  places: ReadonlyMap<string, Place>,
  messages: Messages,
): void {
  const iccids = new Set(receipts.map(({ iccid }) => iccid))
  const gone = [...iccids].filter((iccid) => !places.has(iccid))
  for (const iccid of gone) messages.tell(1, `${iccid} is not in ${directory}`)
  const forgotten = new Map(
    receipts.flatMap(({ device, iccid }) =>
      device !== null && isForgotten(places.get(iccid)) ? [[device, iccid] as const] : [],
    ),
  )
  warnOfEach(messages, [...forgotten], {
    words: ([device, iccid]) => `${iccid} is used, but not recorded for device ${device}`,
    more: (others) => `${others} more devices are not recorded`,
    concern: 'unrecorded',
  })
  const where = gone.length === 0 ? '' : `; ${gone.length} of them not in ${directory}`
  messages.tell(
    0,
    `${several(receipts.length, 'receipt')} of ${several(iccids.size, 'profile')} compared${where}`,
  )
}

const isForgotten = (place: Place | undefined) => place?.state === 'used' && place.statement === undefined

/** Of a problem, each ICCID or device is counted once. */
function summary(found: readonly Contradiction[]): string {
  const count = (problem: Problem, keyOf: (each: Contradiction) => string | null) =>
    new Set(found.filter((each) => each.problem === problem).map(keyOf)).size
  const parts: [number, string][] = [
    [count('two-devices', ({ iccid }) => iccid), 'on several devices'],
    [count('unused', ({ iccid }) => iccid), 'handed out or moved, but unused in the directory'],
  ]
  const devices = count('two-profiles', ({ device }) => device)
  return [
    ...parts
      .filter(([number]) => number > 0)
      .map(([number, words]) => `${several(number, 'ICCID')} ${words}`),
    ...(devices > 0 ? [`${several(devices, 'device')} with several ICCIDs`] : []),
  ].join(', ')
}
