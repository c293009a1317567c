/**
 * Puts a directory that was copied, or that came back from a backup, back into use. A backup is taken in the middle of
 * something, and does not know what came after it; receipts do. One rule: what any receipt names as handed out becomes
 * used, with its device; what any names as having left from here is put aside, for a person to look at. So a call with more
 * receipts heals what one with fewer did, and a second one changes nothing. The new identity is the last step: until then,
 * other calls take the directory for a copy, also if this call is killed.
 */
import { join, resolve } from 'node:path'
import { diskFailure, Failure, UnusableProfile, UsageError } from '../failure.ts'
import * as store from '../store/directory.ts'
import { type Messages, type Progress, printable, several } from '../words.ts'

interface Restoration {
  readonly directory: string
  /** Of receipts, or directories of them, of all stations; none if nothing was handed out or moved since. */
  readonly files: readonly string[]
  /** Says what it would do, and changes nothing. */
  readonly isDry: boolean
  readonly messages: Messages
  readonly progress: Pick<Progress, 'follow'>
  readonly print: (text: string) => Promise<void>
}

/** Somebody says that a profile was handed out: a receipt, a used file, or the record of a device. */
type Statement = Pick<store.Receipt, 'iccid' | 'device' | 'time' | 'station' | 'source' | 'again'> &
  Partial<Pick<store.Receipt, 'directory' | 'from'>>

interface Plan {
  /** What becomes used, by X. */
  readonly used: Map<string, ReturnType<typeof adopted>>
  /** What is to be put aside, also before it becomes used: X, or who holds it. */
  readonly aside: (string | store.Held)[]
  /** For devices that have no record. */
  readonly records: store.DeviceRecord[]
  readonly lines: Record<Kind, string[]>
}

/** What becomes of a profile, or what contradicts what is said of it. */
type Kind = 'used' | 'aside' | 'missing' | 'elsewhere' | 'two devices' | 'two profiles'

/**
 * @throws {Failure} `unusable` if receipts contradict each other or the directory, when all others are restored; `usage`,
 *   `no-profiles`, `disk`: the same command goes on
 */
export async function restore(restoration: Restoration): Promise<void> {
  const { directory, files, isDry, messages, progress, print } = restoration
  store.look(directory)
  progress.follow(() => 'reading the receipts')
  const receipts = store.readReceipts(files)
  if (files.length > 0 && receipts.length === 0)
    throw new UsageError(`no receipt in ${files.join(', ')}`, 'name the files of all stations')
  progress.follow(() => `restoring ${directory}`)
  const plan = await carryOut(restoration, receipts)
  const { used, aside, missing, elsewhere, ...contradictions } = plan.lines
  const quiet = isDry ? [elsewhere] : [used, elsewhere]
  const lines = Object.entries(plan.lines).flatMap(([kind, all]) =>
    quiet.includes(all) ? [] : all.map((line) => `${printable(`${kind}: ${line}`)}\n`),
  )
  if (lines.length > 0) await print(lines.join(''))
  for (const line of quiet.flat()) messages.tell(1, line)
  const waiting = isDry ? store.waitingIn(directory).answers.flat().length : 0
  if (waiting > 0) messages.tell(0, `${several(waiting, 'received profile')} would be stored first`)
  const stations = [...new Set(receipts.map(({ station }) => station))].sort()
  const says = stations.length === 0 ? '' : `, as the receipts of ${stations.join(', ')} say`
  messages.tell(0, `${several(plan.used.size, 'profile')} ${isDry ? 'would be ' : ''}marked used${says}`)
  if (elsewhere.length > 0)
    messages.tell(0, `${several(elsewhere.length, 'profile')} elsewhere; -v names them`)
  const how = 'if one is nowhere else, remove .aside from its name'
  if (aside.length > 0) messages.warn(`${several(aside.length, 'profile')} aside: ${how}`)
  if (missing.length > 0)
    messages.warn(`${several(missing.length, 'profile')} missing: they are not in the backup`)
  messages.tell(0, isDry ? 'nothing was changed' : `${directory} is restored: it can be used again`)
  if (Object.values(contradictions).flat().length === 0) return
  const hint =
    'put these devices aside: nobody knows which profile each of them has; softsim next --device gives a device without a record a new one'
  throw new Failure('unusable', `the receipts contradict each other or ${directory}`, hint)
}

async function carryOut(
  { directory, isDry, messages }: Restoration,
  receipts: store.Receipt[],
): Promise<Plan> {
  try {
    const notes = new Map(store.outgoingIn(directory).map(({ id, to }) => [id, to]))
    const moving = store.look(directory).held.filter(({ move }) => move !== undefined)
    const targets = new Map(moving.map(({ name, move = '' }) => [name, notes.get(move)]))
    if (isDry) return planOf(directory, receipts, targets)
    messages.tell(0, `until this ends, no other call may use ${directory}`)
    await store.finishAnswers(directory, messages)
    // What a call has decided for a device is given back if a receipt says that the device got another profile.
    const { records } = planOf(directory, receipts, targets)
    store.disown(directory)
    await store.makeRecords(directory, records)
    await store.settle(directory, messages)
    store.putAside(directory, moving)
    for (const id of notes.keys()) store.removeNote(directory, id)
    const plan = planOf(directory, receipts, targets)
    store.putAside(directory, plan.aside)
    await store.adoptUsed(directory, [...plan.used.values()])
    const { unused, held, aside } = store.look(directory)
    for (const name of aside) if (plan.used.has(name)) messages.warn(`${name} is damaged, and stays aside`)
    const wanted = new Set([...plan.aside, ...moving].map(nameOf))
    if ([...unused, ...held].some((each) => wanted.has(nameOf(each)))) {
      const hint = 'stop the stations, and run the same command again, on a share an hour after a killed call'
      throw new Failure('disk', `other calls hold profiles of ${directory}`, hint)
    }
    await store.makeRecords(directory, plan.records)
    addResults(directory, receipts)
    store.renewIdentity(directory)
    return plan
  } catch (error) {
    const cause = error instanceof UnusableProfile ? (error.cause ?? error) : error
    throw diskFailure(`can't restore ${directory}`, cause)
  }
}

const nameOf = (each: string | store.Held) => (typeof each === 'string' ? each : each.name)

/** The used file names a device only if nobody says that another one has the profile. */
function adopted(name: string, said: readonly Statement[]) {
  const [first, another] = holdersOf(said)
  const by = {
    station: first?.station || store.stationName(),
    claimed: first?.time || new Date().toISOString(),
  }
  return { name, by, device: another === undefined ? (first?.device ?? undefined) : undefined }
}

/** What stations have found out about devices comes back to their records. */
function addResults(directory: string, receipts: readonly store.Receipt[]): void {
  const found = Map.groupBy(
    receipts.filter(({ result }) => result !== undefined),
    ({ device }) => device ?? '',
  )
  for (const [device, results] of found) {
    const record = store.recordOf(directory, device)
    const known = new Set(store.resultsOf(directory, device).map(({ time, station }) => time + station))
    for (const { iccid, result = 'fail', time, station, note } of results) {
      if (iccid !== record?.iccid || known.has(time + station)) continue
      known.add(time + station)
      store.addResult(directory, device, { result, time, station, note }, false)
    }
  }
}

/**
 * What is to be done in a directory. It changes nothing.
 * @param targets where moves were taking profiles
 */
function planOf(
  directory: string,
  receipts: readonly store.Receipt[],
  targets: ReadonlyMap<string, string | undefined>,
): Plan {
  const { unused, used, held, aside } = store.look(directory)
  const own = new Set(store.identitiesOf(directory))
  const here = resolve(directory)
  const moves = receipts.filter(({ to }) => to !== undefined)
  // A share has other paths elsewhere, and a backup may be older than the identity in a receipt. To put aside too much does no harm.
  const isFromHere = (each: Statement) => own.has(each.from ?? '') || each.directory === here
  const left = new Map(moves.filter(isFromHere).map((each) => [each.iccid, each]))
  const byFiles = used.flatMap((name) => saidByFile(directory, name) ?? [])
  const recorded = store
    .records(directory)
    .map((each) => ({ ...each, time: '', station: '', source: directory }))
  const said: Statement[] = [...receipts.filter(({ to }) => to === undefined), ...byFiles, ...recorded]
  // A record does not say when: it comes last.
  said.sort(
    (a, b) =>
      Number(a.time === '') - Number(b.time === '') || (a.time < b.time ? -1 : Number(a.time > b.time)),
  )
  const byIccid = Map.groupBy(said, ({ iccid }) => iccid)
  const contradictions = { 'two devices': [], 'two profiles': [] }
  const lines: Plan['lines'] = { used: [], aside: [], missing: [], elsewhere: [], ...contradictions }
  const plan: Plan = { used: new Map(), aside: [], records: [], lines }
  const known = new Set(used.map(store.iccidOf))
  const free = new Map<string, string | store.Held>([...aside, ...unused].sort().map((name) => [name, name]))
  for (const each of held) free.set(each.name, each)
  const lies = new Set(aside)
  const hasRecord = new Set(recorded.map(({ device }) => device))
  const owners = new Map<string, string | null | undefined>(
    byFiles.map(({ iccid, device }) => [iccid, device]),
  )
  for (const [name, each] of free) {
    const iccid = store.iccidOf(name) ?? ''
    if (known.has(iccid)) continue
    const all = byIccid.get(iccid)
    const receipt = left.get(iccid)
    if (all !== undefined) {
      plan.aside.push(each)
      plan.used.set(name, adopted(name, all))
      owners.set(iccid, adopted(name, all).device)
      lines.used.push(...holdersOf(all).map(lineOf))
    } else if (receipt !== undefined) {
      plan.aside.push(each)
      lines.aside.push(`${iccid} left for ${receipt.to}: ${sourceOf(receipt)}`)
    } else if (lies.has(name) || targets.has(name))
      lines.aside.push(`${iccid} was leaving for ${targets.get(name) ?? 'an unknown directory'}`)
  }
  for (const name of free.keys()) known.add(store.iccidOf(name))
  const isMeant = (each: store.Receipt) => known.has(each.iccid) || isFromHere(each) || each.to === here
  if (receipts.length > 0 && !receipts.some(isMeant)) {
    const hint = 'check the directory; if all of its profiles came later, it needs no receipts'
    throw new Failure('no-profiles', `${directory} has none of the profiles that the receipts name`, hint)
  }
  for (const [iccid, all] of byIccid) {
    const holders = holdersOf(all)
    if (holders.length > 1) lines['two devices'].push(...holders.map(lineOf))
    if (known.has(iccid)) continue
    // A copy that is made while a call gives a file its new name can lack both.
    const isMissing = holders.some(isFromHere)
    lines[isMissing ? 'missing' : 'elsewhere'].push(...holders.map(lineOf))
    if (isMissing && holders.length === 1) owners.set(iccid, holders[0]?.device)
  }
  for (const each of moves)
    if (each.to === here && !known.has(each.iccid) && !byIccid.has(each.iccid) && !left.has(each.iccid)) {
      known.add(each.iccid)
      lines.missing.push(`${each.iccid} came from ${each.directory}: ${sourceOf(each)}`)
    }
  for (const [device, all] of Map.groupBy(said, (each) => each.device)) {
    if (device === null) continue
    const own = all.find(({ iccid }) => owners.get(iccid) === device)
    if (own !== undefined && !hasRecord.has(device)) plan.records.push({ device, iccid: own.iccid })
    if (all.length === 1) continue
    const profiles = [...Map.groupBy(all, ({ iccid }) => iccid).values()].flatMap(([first]) => first ?? [])
    if (profiles.length > 1) lines['two profiles'].push(...profiles.map(lineOf))
  }
  return plan
}

/** The different ones who have a profile. Without a serial number, each call was for another device. */
function holdersOf(said: readonly Statement[]): readonly Statement[] {
  if (said.length === 1) return said
  const nameless = said.filter(({ device }) => device === null)
  const calls = nameless.filter(({ again }) => !again)
  const all = [
    ...said.filter(({ device }) => device !== null),
    ...(calls.length > 0 ? calls : nameless.slice(0, 1)),
  ]
  const byHolder = Map.groupBy(all, ({ device, time, station }) => device ?? `\0${time} ${station}`)
  return [...byHolder.values()].flatMap(([first]) => first ?? [])
}

/** @returns undefined if it is damaged: nobody knows who has that profile */
function saidByFile(directory: string, name: string): Statement | undefined {
  const used = store.readUsed(directory, store.usedName(name))
  if (typeof used === 'string') return undefined
  const { claimed: time = '', station = '', device = null } = used
  const source = join(directory, store.usedName(name))
  return { iccid: store.iccidOf(name) ?? '', device, time, station, source, again: true }
}

const sourceOf = ({ station, source }: Pick<Statement, 'station' | 'source'>) =>
  station === '' ? source : `station ${station}, ${source}`

const lineOf = (said: Statement) => `${said.device ?? 'nobody known'} has ${said.iccid}: ${sourceOf(said)}`
