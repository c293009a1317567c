import { fileName, usedName } from '../../store/names.ts'
import type { Receipt } from '../../store/receipts/parse.ts'
import { tombstoneIn } from '../../store/use.ts'
import { several } from '../../words.ts'
import { compare, type DeviceRecord, recordOf } from '../devices/records.ts'
import { lookAt } from '../look.ts'

/** What can't be true, or must not stay so. */
const PROBLEMS = ['two-devices', 'unused', 'two-profiles'] as const

type Problem = (typeof PROBLEMS)[number]

/** Who says that a profile was handed out or moved: a receipt, or the used file. */
export type Statement = Pick<Receipt, 'iccid' | 'device' | 'time' | 'source' | 'again'> &
  Partial<Pick<Receipt, 'move'>>

/** Statements about one ICCID, or one device, that contradict each other or the directory. */
export interface Contradiction {
  readonly problem: Problem
  readonly statements: readonly Statement[]
}

/** Where the directory has a profile. */
interface Place {
  /** `moved`: another directory has it, and knows its device. */
  readonly state: 'unused' | 'used' | 'moved'
  /** The name of its file. */
  readonly file: string
  /** What the used file says, if it names a device. */
  readonly statement?: Statement | undefined
}

/** @throws {Failure} as `lookAt` */
export function placeOf(directory: string, iccid: string): Place | undefined {
  const use = lookAt(directory, iccid)
  if (use === undefined) return { state: 'used', file: usedName(fileName(iccid)) }
  if (use.state === 'gone') return undefined
  if (use.state === 'unused') return { state: 'unused', file: use.name }
  const file = usedName(use.name)
  if (tombstoneIn(use.text) !== undefined) return { state: 'moved', file }
  const record = use.state === 'torn' ? undefined : recordOf(file, use.text)
  return { state: 'used', file, statement: record && statementOf({ ...record, iccid }) }
}

export const statementOf = ({ iccid, device, claimed, file }: DeviceRecord): Statement => ({
  ...{ iccid, device, time: claimed, source: file, again: true },
})

/** The statements about a problem together, the oldest first. */
export function rowsOf(directory: string, found: readonly Contradiction[]) {
  const sorted = found.map(({ problem, statements }) => ({
    problem,
    statements: statements.toSorted((a, b) => compare(a.time, b.time)),
  }))
  const timeOf = ({ statements: [first] }: Contradiction) => first?.time ?? ''
  const order = ({ problem }: Contradiction) => PROBLEMS.indexOf(problem)
  sorted.sort((a, b) => order(a) - order(b) || compare(timeOf(a), timeOf(b)))
  return sorted.flatMap(({ problem, statements }) =>
    statements.map(({ iccid, device, time, source }) => {
      const file = placeOf(directory, iccid)?.file ?? null
      return { problem, iccid, device, time, source, file }
    }),
  )
}

/** Of a problem, each ICCID or device is counted once. */
export function summary(found: readonly Contradiction[]): string {
  const count = (of: Problem) => found.filter(({ problem }) => problem === of).length
  return [
    [count('two-devices'), 'ICCID', 'on several devices'] as const,
    [count('unused'), 'ICCID', 'handed out or moved, but unused in the directory'] as const,
    [count('two-profiles'), 'device', 'with several ICCIDs'] as const,
  ]
    .flatMap(([number, thing, words]) => (number > 0 ? `${several(number, thing)} ${words}` : []))
    .join(', ')
}
