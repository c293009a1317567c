import { readFileSync } from 'node:fs'
import { Failure, reasonOf } from '../failure.ts'
import { distinct } from '../store/directory-entries.ts'
import { usedName } from '../store/names.ts'
import { several } from '../words.ts'
import { countAll, countFiles } from './count.ts'
import { type Output, printList } from './print.ts'
import { compare, readRecords, warnOfRecords } from './records.ts'

const FIELDS = ['claimed', 'station', 'device', 'iccid', 'state', 'directory'] as const

const RESULT_FIELDS = [...FIELDS, 'result'] as const

interface DeviceList extends Output {
  readonly directories: readonly string[]
  /** Only what was claimed from this time on. What has no time is listed, too. */
  readonly since: Date | undefined
  /** Only what this station has claimed. */
  readonly station: string | undefined
  /** The files of results of all stations: only the devices that did not pass last. */
  readonly results: readonly string[] | undefined
}

/**
 * Prints the devices that have a profile, the oldest claim first, and changes nothing.
 * @throws {Failure} `no-profiles`, `usage` or `disk`
 */
export async function listDevices(list: DeviceList): Promise<void> {
  const { since, station, messages } = list
  const directories = distinct(list.directories)
  const results = list.results && lastResults(list.results)
  const all = directories.map((directory) => {
    const found = countFiles(directory, messages)
    const claimed = new Set(found.unfinished.map(usedName))
    const records = readRecords(directory)
    const stateOf = (file: string) => (claimed.has(file) ? 'claimed' : 'used')
    const devices = records.devices.map((each) => ({ ...each, directory, state: stateOf(each.file) }))
    return { ...records, ...found, directory, devices }
  })
  const everywhere = all.flatMap((each) => each.devices)
  // After `restore`, two directories know of one profile.
  const devices = [...Map.groupBy(everywhere, ({ device, iccid }) => `${iccid} ${device}`).values()]
    .flatMap(([first]) => first ?? [])
    .sort((a, b) => compare(a.claimed, b.claimed))
  const asked = devices
    .filter((each) => !(since !== undefined && Date.parse(each.claimed) < since.getTime()))
    .filter((each) => station === undefined || each.station === station)
    .map((each) => ({ ...each, result: results?.get(each.device)?.result ?? null }))
    .filter(({ result }) => results === undefined || result !== 'pass')
  await printList(list, results === undefined ? FIELDS : RESULT_FIELDS, asked, directories)
  const byStation = Map.groupBy(asked, (each) => each.station)
  const counts = [...byStation].map(([name, { length }]) => `${name || 'unknown'} ${length}`)
  if (counts.length > 1) messages.tell(0, `by station: ${counts.join(', ')}`)
  if (station !== undefined && !devices.some((each) => each.station === station))
    messages.warn(`station ${station} has claimed nothing for a device here`)
  const unknown = asked.filter(({ result }) => result === null).length
  if (results !== undefined && unknown > 0)
    messages.tell(0, `${several(unknown, 'device')} without a result: name the results of all stations`)
  const unreadable = all.flatMap((each) => each.unreadable)
  warnOfRecords({ devices, unreadable }, messages)
  const total = countAll(all)
  const moved = total.moved + total.inTransit
  const others = all.reduce((count, { withoutDevice }) => count + withoutDevice, 0)
  if (others > 0) messages.tell(0, `${several(others, 'used profile')} without a device`)
  if (moved > 0) messages.tell(0, `${several(moved, 'profile')} moved to other directories, or in transit`)
}

/** As the scripts of the stations write them: time, station, device, result. A field may stand in double quotes. */
const CELL = /("(?:[^"]|"")*"|[^,"]*)(?:,|$)/g

const RESULTS = ['pass', 'fail', 'unfinished']

/**
 * The last result of each device, of all stations.
 * @throws {Failure} `disk` if a file can't be read, `usage` if it has no results
 */
function lastResults(paths: readonly string[]): Map<string, { time: string; result: string }> {
  const last = new Map<string, { time: string; result: string }>()
  for (const path of new Set(paths)) {
    const text = contentsOf(path)
    const rows = text.split('\n').map((line) => cellsOf(line.trim()))
    const attempts = rows.filter(([, , , result = '']) => RESULTS.includes(result))
    if (text.trim() !== '' && attempts.length === 0 && !rows.some((cells) => cells[3] === 'result'))
      throw new Failure('not-results', `${path} is not a file of results`)
    // Within a file, the last line of a device counts, and no clock.
    const inFile = new Map(
      attempts.map(([time = '', , device = '', result = '']) => [device, { time, result }]),
    )
    for (const [device, attempt] of inFile)
      if (attempt.time >= (last.get(device)?.time ?? '')) last.set(device, attempt)
  }
  return last
}

const cellsOf = (line: string) =>
  [...line.matchAll(CELL)].map(([, cell = '']) =>
    cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell,
  )

function contentsOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Failure('unread-results', `can't read the results ${path}: ${reasonOf(error)}`, error)
  }
}
