/** `status --device` and `--iccid`: all that is known of one device or profile. */
import { Failure } from '../failure.ts'
import { type Held, iccidOf, twinOf, usedName } from '../store/directory.ts'
import { claimOf, type Names, readNames, targetOf, warnOfNotPrinted } from './count.ts'
import { readUses, type Use, warnOfUses } from './devices.ts'
import { type Output, type Row, TABLES } from './print.ts'

/** `name` is X. */
type Place = { place: 'unused' | 'used' | 'held' | 'in transit' | 'aside'; name: string; held?: Held }

/** Where a directory has a profile: nowhere, in one place, or, if people or other programs have copied files, in several. */
export function placesIn({ unused, used, open, aside }: Names, iccid: string): Place[] {
  const spellings = ['', 'F', 'f'].map((filler) => `${iccid}${filler}.json`)
  const among = (names: readonly string[], place: Place['place']): Place[] =>
    spellings.filter((name) => names.includes(name)).map((name) => ({ place, name }))
  const held = open
    .filter(({ name }) => spellings.includes(name))
    .map((each): Place => ({ place: each.move ? 'in transit' : 'held', name: each.name, held: each }))
  return [...among(used, 'used'), ...among(unused, 'unused'), ...held, ...among(aside, 'aside')]
}

export interface Search extends Output {
  readonly directory: string
  /** Serial numbers whose history is asked for. */
  readonly devices: readonly string[]
  /** Profiles that are asked for, without a filler. */
  readonly iccids: readonly string[]
}

/** What a look-up has read. */
type Seen = { directory: string; names: Names; uses: readonly Use[] }

const FIELDS = ['device', 'iccid', 'place', 'result', 'station', 'time', 'note']

/**
 * Prints the history of devices, and where profiles are.
 * @throws {Failure} `no-profiles`, after printing the others, if nothing is known of one of them; `disk`
 */
export async function showProfiles({ directory, ...search }: Search): Promise<void> {
  const { format, print, messages } = search
  const [devices, iccids] = [new Set(search.devices), new Set(search.iccids)]
  const names = readNames(directory, messages)
  const seen: Seen = { directory, names, uses: readUses(directory, names) }
  const found = [
    ...[...devices].map((device) => ({ what: `device ${device}`, rows: historyOf(seen, device) })),
    ...[...iccids].map((iccid) => ({ what: `ICCID ${iccid}`, rows: rowsOf(seen, iccid) })),
  ]
  const rows = found.flatMap((each) => each.rows)
  if (rows.length > 0) await print(TABLES[format](FIELDS, rows))
  warnOfUses(seen.uses, messages, ({ device = '', iccid }) => devices.has(device) || iccids.has(iccid))
  const shown = new Set(rows.map(({ iccid }) => iccid))
  const held = names.held.filter(({ name }) => shown.has(iccidOf(name)))
  warnOfNotPrinted(directory, held, messages)
  for (const device of devices) {
    const twin = twinOf(directory, device)
    if (twin !== undefined) messages.warn(`device ${twin} is known, and spelled almost like ${device}`)
  }
  const missing = found.filter((each) => each.rows.length === 0).map(({ what }) => what)
  if (missing.length === 0) return
  const hint = 'check the spelling and the directory; softsim status --devices lists all devices'
  throw new Failure('no-profiles', `no profile in ${directory} for ${missing.join(', ')}`, hint)
}

/** A device's claim, then its results, the oldest first. */
function historyOf(seen: Seen, device: string): Row[] {
  const its = seen.uses.filter((use) => use.device === device)
  return [
    ...[...new Set(its.map(({ iccid }) => iccid))].flatMap((iccid) => rowsOf(seen, iccid)),
    ...its.flatMap(({ iccid, results }) => results.map((each) => ({ device, iccid, ...each }))),
  ]
}

/** A row for each place where a profile is, or from where it is to come. */
function rowsOf({ directory, names, uses }: Seen, iccid: string): Row[] {
  const its = uses.filter((use) => use.iccid === iccid)
  const recorded = its.find(({ file }) => file === undefined)?.device
  const here = placesIn(names, iccid).map(({ place, name, held }): Row => {
    const use = held ? claimOf(directory, held) : its.find(({ file }) => file === usedName(name))
    const note = held?.move && `to ${targetOf(directory, held.move)}`
    return { device: use?.device ?? recorded, iccid, place, station: use?.station, time: use?.claimed, note }
  })
  const coming = names.coming.filter(({ name }) => iccidOf(name) === iccid)
  const rows = [...here, ...coming.map(({ from }) => ({ iccid, place: 'coming', note: `from ${from}` }))]
  const isOnlyRecorded = rows.length === 0 && recorded !== undefined
  return isOnlyRecorded ? [{ device: recorded, iccid, note: 'only recorded: the profile is not here' }] : rows
}
