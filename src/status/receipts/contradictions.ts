import type { Receipt } from './read.ts'

/** Who says that a profile was handed out: a receipt, or the used file. */
export interface Statement extends Omit<Receipt, 'station' | 'move'> {}

/** Where the directory has a profile. */
export interface Place {
  /** `moved`: another directory has it, and knows its device. */
  readonly state: 'unused' | 'used' | 'moved'
  /** The name of its file. */
  readonly file: string
  /** What the used file says, if it names a device. */
  readonly statement: Statement | undefined
}

/** What can't be true, or must not stay so. */
export type Problem = 'two-devices' | 'unused' | 'two-profiles'

/** One of the statements that contradict each other or the directory. */
export interface Contradiction {
  readonly problem: Problem
  readonly iccid: string
  readonly device: string | null
  readonly time: string
  readonly source: string
  /** The file of this ICCID in the directory. */
  readonly file: string | null
}

/**
 * Finds the ICCIDs that were handed out to several devices, those that were handed out and are unused in the directory,
 * and the devices that got several ICCIDs. One of them is named once for each statement.
 * @param receipts of all stations, in any order, each once
 * @param places by ICCID, of everything that the receipts name and of every used file that names a device
 */
export function contradictionsIn(
  receipts: readonly Receipt[],
  places: ReadonlyMap<string, Place>,
): Contradiction[] {
  const used = [...places.values()].flatMap(({ statement }) => statement ?? [])
  const statements = [...receipts, ...used].sort(byTime)
  const named = (problem: Problem) => (each: Statement) => {
    const { iccid, device, time, source } = each
    return { problem, iccid, device, time, source, file: places.get(iccid)?.file ?? null }
  }
  const ofIccids = groups(statements, ({ iccid }) => iccid)
  const ofDevices = groups(
    statements.filter(({ device }) => device !== null),
    ({ device }) => device ?? '',
  )
  return [
    ...ofIccids.filter((each) => holders(each) > 1).flatMap((each) => each.map(named('two-devices'))),
    ...ofIccids
      .filter(([first]) => first !== undefined && places.get(first.iccid)?.state === 'unused')
      .flatMap((each) => each.map(named('unused'))),
    ...ofDevices
      .filter((each) => new Set(each.map(({ iccid }) => iccid)).size > 1)
      .flatMap((each) => each.map(named('two-profiles'))),
  ]
}

/** How many devices have a profile. Without a serial number, each hand-out that was not a repetition was for another one. */
const holders = (statements: readonly Statement[]) =>
  new Set(statements.flatMap(({ device }) => device ?? [])).size +
  statements.filter(({ device, again }) => device === null && !again).length

const groups = <T>(all: readonly T[], keyOf: (each: T) => string): T[][] => [
  ...Map.groupBy(all, keyOf).values(),
]

const byTime = (a: Statement, b: Statement) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0)
