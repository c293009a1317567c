import { Failure } from '../failure.ts'
import { looking, readUsed } from '../store/listing.ts'
import { movesInto } from '../store/move-journal.ts'
import { usedName } from '../store/names.ts'
import { textOf, tombstoneIn } from '../store/profile-file.ts'
import { deniedBy, holdersIn, movesIn, withSeveralIccids } from '../store/receipts/last.ts'
import { type Receipt, Receipts } from '../store/receipts/read-receipts.ts'
import { type Progress, several } from '../words.ts'
import { type Output, printJson, printList } from './print.ts'
import {
  compare,
  type DeviceRecord,
  recordIn,
  recordOf,
  useIn,
  warnOfEach,
  warnOfUnreadable,
} from './records.ts'

const FIELDS = ['problem', 'iccid', 'device', 'time', 'source', 'file'] as const

/** What can't be true, or must not stay so: what is counted of each, in the order in which they are printed. */
const PROBLEMS = {
  'two-devices': ['ICCID', 'on several devices'],
  unused: ['ICCID', 'handed out or moved, but unused in the directory'],
  'two-profiles': ['device', 'with several ICCIDs'],
} as const

type Problem = keyof typeof PROBLEMS

/** Who says that a profile was handed out or moved: a receipt, or the used file. */
type Statement = Pick<Receipt, 'iccid' | 'device' | 'time' | 'source' | 'again' | 'file'> &
  Partial<Pick<Receipt, 'directory' | 'move'>>

/** Of each problem: statements about one ICCID, or one device, that contradict each other or the directory. */
type Found = Record<Problem, (readonly Statement[])[]>

interface Comparison extends Output {
  readonly directory: string
  /** The files of receipts of all stations. */
  readonly files: readonly string[]
  readonly progress: Pick<Progress, 'follow'>
}

/**
 * Compares receipts with each other and with a directory, and prints contradictions. It changes nothing.
 * @throws {Failure} `unusable` after printing; `no-profiles` if the directory has none of the profiles; `usage` or `disk` if a
 *   file or the directory can't be read
 */
export async function compareReceipts(comparison: Comparison): Promise<void> {
  const { files, messages, progress } = comparison
  // Before the directory: a claim is complete before its receipt is written, so stations may go on meanwhile.
  const receipts = await Receipts.read(files, progress)
  try {
    warnOfEach(messages, receipts.torn, {
      words: (line) => `${receipts.sourceOf(line)} is not a complete receipt`,
      more: (others) => `${others} more receipts are not complete`,
    })
    await hold(receipts, comparison)
  } finally {
    receipts.close()
  }
}

/** @throws {Failure} as `compareReceipts` */
async function hold(receipts: Receipts, comparison: Comparison): Promise<void> {
  const { directory, messages, format, progress } = comparison
  const tally = { receipts: 0, profiles: 0, elsewhere: 0, torn: receipts.torn.length }
  progress.follow(() => `${several(tally.profiles, 'profile')} compared`)
  const statementAt = addUsed(receipts, comparison)
  const arrived = looking(directory, () => movesInto(directory))
  const found: Found = { 'two-devices': [], unused: [], 'two-profiles': [] }
  const forgotten: string[] = []
  const moves = new Map<string, number>()
  let isTarget = false
  for (const each of receipts.profiles()) {
    const iccid = each[0]?.iccid ?? ''
    tally.receipts += each.length
    // Progress is only seen when nothing else is to be done.
    if (tally.profiles++ % 1000 === 0) await new Promise((resolve) => setImmediate(resolve))
    const place = standingOf(directory, iccid)
    if (place === undefined) {
      tally.elsewhere++
      messages.tell(1, `${iccid} is not in ${directory}`)
    }
    for (const { directory: from, move } of movesIn(each)) {
      const way = `from ${from} to ${move.to}`
      moves.set(way, (moves.get(way) ?? 0) + 1)
      isTarget ||= arrived.has(move.id)
    }
    const { state, statement } = place ?? {}
    const all = statement === undefined ? each : [...each, statement]
    if (holdersIn(all).length > 1) found['two-devices'].push(all)
    const denied = place?.state === 'unused' ? deniedBy(directory, each, unusedIn(directory, place.file)) : []
    if (denied.length > 0) found.unused.push(denied)
    if (state !== 'used' || statement !== undefined) continue
    for (const device of new Set(each.flatMap(({ device }) => device ?? [])))
      forgotten.push(`${iccid} is used, but not recorded for device ${device}`)
  }
  for (const statements of withSeveralIccids(receipts.byDevice, statementAt))
    found['two-profiles'].push(statements)
  const problems = summary(found)
  if (problems !== '' || format === 'csv') await printList(comparison, FIELDS, rowsOf(directory, found))
  else if (format === 'json') await printJson(comparison, { directory, ...tally })
  warnOfEach(messages, forgotten, {
    words: (each) => each,
    more: (others) => `${others} more devices are not recorded`,
    kind: 'unrecorded',
  })
  for (const [way, count] of moves) messages.tell(0, `${several(count, 'profile')} moved ${way}`)
  const isAgreed = tally.receipts > 0 && problems === '' && forgotten.length === 0
  const where = tally.elsewhere === 0 ? '' : `; ${tally.elsewhere} of them not in ${directory}`
  messages.tell(
    0,
    `${several(tally.receipts, 'receipt')} of ${several(tally.profiles, 'profile')} compared${where}${isAgreed ? ': they agree' : ''}`,
  )
  if (problems !== '')
    throw new Failure('contradiction', `the receipts contradict each other or ${directory}: ${problems}`)
  if (tally.profiles > 0 && tally.elsewhere === tally.profiles && !isTarget)
    throw new Failure('other-receipts', `${directory} has none of the profiles that the receipts name`)
}

/**
 * Adds the used files of a directory that name a device.
 * @returns what reads a statement again, by its number among the receipts and these files
 */
function addUsed(
  receipts: Receipts,
  { directory, messages }: Comparison,
): (entry: number) => Statement | undefined {
  const used = readUsed(directory)
  const unreadable: string[] = []
  for (const [at, name] of used.entries()) {
    const { device, iccid = '' } = recordIn(directory, name, unreadable) ?? {}
    if (device !== undefined && iccid !== '') receipts.byDevice.add(device, receipts.length + at)
  }
  warnOfUnreadable(unreadable, messages)
  return (entry) => {
    if (entry < receipts.length) return receipts.at(entry)
    const record = recordIn(directory, used[entry - receipts.length] ?? '', [])
    return record && statementOf(record)
  }
}

/** Where the directory has a profile. */
interface Standing {
  /** `moved`: another directory has it, and knows its device. */
  readonly state: 'unused' | 'used' | 'moved'
  /** The name of its file. */
  readonly file: string
  /** What the used file says, if it names a device. */
  readonly statement?: Statement | undefined
}

/** @throws {Failure} as `useIn` */
function standingOf(directory: string, iccid: string): Standing | undefined {
  const use = useIn(directory, iccid)
  if (use.state === 'gone') return undefined
  if (use.state === 'unused') return { state: 'unused', file: use.name }
  const file = usedName(use.name)
  if (tombstoneIn(use.text) !== undefined) return { state: 'moved', file }
  const record = use.state === 'torn' ? undefined : recordOf(file, use.text)
  return { state: 'used', file, statement: record && statementOf({ ...record, iccid }) }
}

const unusedIn = (directory: string, name: string) => ({ name, stored: textOf(directory, name) })

const statementOf = ({ iccid, device, claimed, file }: DeviceRecord): Statement => ({
  ...{ iccid, device, time: claimed, source: file, file, again: true },
})

/** The statements about a problem together, the oldest first. */
function rowsOf(directory: string, found: Found) {
  const byTime = (a?: Statement, b?: Statement) => compare(a?.time ?? '', b?.time ?? '')
  return Object.entries(found).flatMap(([problem, all]) =>
    all
      .map((statements) => statements.toSorted(byTime))
      .sort(([a], [b]) => byTime(a, b))
      .flat()
      .map(({ iccid, device, time, source }) => {
        const file = standingOf(directory, iccid)?.file ?? null
        return { problem, iccid, device, time, source, file }
      }),
  )
}

/** Of a problem, each ICCID or device is counted once. Empty if there is none. */
function summary(found: Found): string {
  const counts = Object.entries(PROBLEMS).flatMap(([problem, [thing, words]]) => {
    const { length } = found[problem as Problem]
    return length > 0 ? `${several(length, thing)} ${words}` : []
  })
  return counts.join(', ')
}
