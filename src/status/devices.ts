/** `status --devices`: the list for the customer, and the history of each device. */
import {
  iccidOf,
  type Listing,
  type Result,
  readUsed,
  records,
  type Used,
  usedName,
} from '../store/directory.ts'
import { type Messages, several } from '../words.ts'
import { readNames } from './count.ts'
import { type Output, TABLES, warnOfEach } from './print.ts'

/** That a profile is used. Without a file, nothing but the record of a device says so. */
export type Use = Pick<Used, 'iccid' | 'device' | 'station' | 'claimed'> & {
  readonly file?: string
  /** Why nothing can be read from the file. */
  readonly problem?: string
  /** In the order of time. */
  readonly results: readonly Result[]
  /** A backup has not got the profile of a record. */
  readonly isGone?: boolean
}

/** In one pass over the used files and the records, the oldest claim first. What is used twice is there twice. */
export function readUses(directory: string, { unused, used, held }: Listing): Use[] {
  const keyOf = ({ iccid, device = '' }: Pick<Use, 'iccid' | 'device'>) => `${iccid} ${device}`
  const recorded = new Map<string, Use>(records(directory).map((each) => [keyOf(each), each]))
  const files = used.map((name): Use => {
    const [iccid = '', file] = [iccidOf(name), usedName(name)]
    const found = readUsed(directory, file)
    if (typeof found === 'string') return { iccid, file, problem: found, results: [] }
    const { device, station, claimed } = found
    const { results = [] } = recorded.get(keyOf({ iccid, device })) ?? {}
    return { iccid, file, device, station, claimed, results }
  })
  for (const each of files) recorded.delete(keyOf(each))
  const here = new Set([...unused, ...held.map(({ name }) => name)].map(iccidOf))
  const others = [...recorded.values()].map((each) => ({ ...each, isGone: !here.has(each.iccid) }))
  return [...files, ...others].sort(({ claimed: a = '' }, { claimed: b = '' }) =>
    a < b ? -1 : a > b ? 1 : 0,
  )
}

/**
 * Warns of profiles that are used twice, of devices with several, and of what is recorded or can't be read.
 * @param isAsked of which uses somebody wants to know
 */
export function warnOfUses(uses: readonly Use[], messages: Messages, isAsked = (_: Use) => true): void {
  const groups = (keyOf: (use: Use) => string | undefined) =>
    [...Map.groupBy(uses, keyOf)].filter(([key, all]) => key && all.length > 1 && all.some(isAsked))
  const twice = groups(({ iccid, problem }) => (problem ? undefined : iccid)).map(([iccid, all]) => {
    const whose = all.map(({ device = 'no device', file = 'its record' }) => `${device} (${file})`)
    return `${iccid} is used more than once: ${whose.join(', ')}; do not ship them`
  })
  warnOfEach(messages, twice, 'profiles are used more than once')
  const rich = groups(({ device }) => device).flatMap(([device, all]) => {
    const iccids = [...new Set(all.map(({ iccid }) => iccid))]
    if (iccids.length === 1) return []
    return `device ${device} has more than one profile: ${iccids.join(', ')}; do not ship it`
  })
  warnOfEach(messages, rich, 'devices have more than one profile')
  const odd = uses.filter(isAsked).flatMap(({ iccid, file, device, problem, isGone }) => {
    if (problem !== undefined) return `${file}: ${problem}; whose it is is not known`
    if (file !== undefined || isGone) return []
    return `device ${device} is recorded for ${iccid}, and no used file says so: scan it again`
  })
  warnOfEach(messages, odd, 'used files or records are odd')
}

type List = Output & { directory: string; list: 'all' | 'passed' | 'not-passed' }

const FIELDS = ['device', 'iccid', 'result', 'resultStation', 'resultTime', 'claimStation', 'claimTime']

/** Prints the devices that have a profile, each with its last result: all, those that passed, or the others. */
export async function listDevices({ directory, list, format, print, messages }: List): Promise<void> {
  const uses = readUses(directory, readNames(directory, messages))
  const [byDevice, byIccid] = [Map.groupBy(uses, (use) => use.device), Map.groupBy(uses, (use) => use.iccid)]
  // Whether a device may be shipped: it has one profile, and is the only one that has it.
  const isSure = (device: string, iccid: string) =>
    byDevice.get(device)?.length === 1 && byIccid.get(iccid)?.length === 1
  const rows = uses.flatMap(({ device, iccid, station: claimStation, claimed: claimTime, results }) => {
    const { result, station: resultStation, time: resultTime } = results.at(-1) ?? {}
    if (device === undefined) return []
    return [{ device, iccid, result, resultStation, resultTime, claimStation, claimTime }]
  })
  const isGood = ({ device, iccid, result }: (typeof rows)[number]) =>
    result === 'pass' && isSure(device, iccid)
  const good = rows.filter(isGood)
  const bad = rows.filter((row) => !isGood(row))
  await print(TABLES[format](FIELDS, list === 'all' ? rows : list === 'passed' ? good : bad))
  messages.tell(0, `${several(rows.length, 'device')}: ${good.length} passed, ${bad.length} not passed`)
  const others = uses.filter(({ device, problem }) => device === undefined && problem === undefined)
  if (others.length > 0) messages.tell(0, `${several(others.length, 'used profile')} without a device`)
  warnOfUses(uses, messages)
}
