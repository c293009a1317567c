/**
 * Puts a directory that was copied, or that came back from a backup, back into use. A backup is taken in the middle of
 * something, and does not know what came after it; receipts do. One rule: what any receipt names as handed out becomes
 * used, with its device; what any names as having left from here is put aside, for a person to look at. So a call with more
 * receipts heals what one with fewer did, and a second one changes nothing. The new identity is the last step: until then,
 * other calls take the directory for a copy, also if this call is killed.
 */
import { join, resolve } from 'node:path'
import { diskFailure, Failure, UsageError } from '../failure.ts'
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

interface Plan {
  /** X of what is to be put aside, also before it becomes used. */
  readonly aside: string[]
  readonly used: (store.By & { readonly name: string })[]
  /** For devices that have no record. */
  readonly records: (store.DeviceRecord & { isNew: true })[]
  /** For a person: what becomes of profiles, or what contradicts what is said of them. */
  readonly lines: Record<'used' | 'aside' | 'missing' | 'two devices' | 'two profiles', string[]>
}

/**
 * @throws {Failure} `unusable` if receipts contradict each other or the directory, when all others are restored; `usage`,
 *   `no-profiles`, `disk`: the same command goes on
 */
export async function restore(restoration: Restoration): Promise<void> {
  const { directory, files, isDry, messages, progress, print } = restoration
  store.look(directory)
  progress.follow(() => 'reading the receipts')
  const receipts = store.readReceipts(files, (text) => messages.warn(text))
  if (files.length > 0 && receipts.length === 0)
    throw new UsageError(`no receipt in ${files.join(', ')}`, 'name the files of all stations')
  progress.follow(() => `restoring ${directory}`)
  const { used, lines } = await carryOut(restoration, receipts)
  const all = Object.entries(lines).flatMap(([kind, texts]) => texts.map((text) => `${kind}: ${text}`))
  if (all.length > 0) await print(all.map((line) => `${printable(line)}\n`).join(''))
  const stations = [...new Set(receipts.map(({ station }) => station))].sort()
  const says = stations.length === 0 ? '' : `, as the receipts of ${stations.join(', ')} say`
  messages.tell(0, `${several(used.length, 'profile')} ${isDry ? 'would be ' : ''}marked used${says}`)
  const how = 'if softsim status --iccid finds one in no other directory, remove .aside from its name'
  if (lines.aside.length > 0) messages.warn(`${several(lines.aside.length, 'profile')} aside: ${how}`)
  const lost = 'devices named with one keep it; what came by a move is lost: ask the service provider'
  if (lines.missing.length > 0) messages.warn(`${several(lines.missing.length, 'profile')} missing: ${lost}`)
  messages.tell(0, isDry ? 'nothing was changed' : `${directory} is restored: it can be used again`)
  if (lines['two devices'].length + lines['two profiles'].length === 0) return
  const hint =
    'put these devices aside: nobody knows which profile each of them has; softsim next --device gives a device without a record a new one'
  throw new Failure('unusable', `the receipts contradict each other or ${directory}`, hint)
}

async function carryOut(
  { directory, isDry, messages }: Restoration,
  receipts: readonly store.Receipt[],
): Promise<Plan> {
  try {
    if (isDry) return planOf(directory, receipts)
    messages.tell(0, `until this ends, no other call may use ${directory}`)
    await store.finishAnswers(directory, messages)
    // What no backup knows: it was decided, came, and was handed out. Nobody decides it again.
    for (const { id } of store.ordersIn(directory))
      if (store.givenIn(directory, id) === undefined) store.closeIn(directory, id)
    // What a call has decided for a device is given back if a receipt says that the device got another profile.
    const { records } = planOf(directory, receipts)
    store.disown(directory)
    await store.makeRecords(directory, records)
    await store.settle(directory, messages)
    const plan = planOf(directory, receipts)
    store.putAside(directory, plan.aside)
    for (const { id } of store.outgoingIn(directory)) store.removeNote(directory, id)
    await store.adoptUsed(directory, plan.used, messages)
    const { unused, held } = store.look(directory)
    const left = new Set([...unused, ...held.map(({ name }) => name)])
    if (plan.aside.some((name) => left.has(name))) {
      const hint = 'stop the stations, and run the same command again, on a share an hour after a killed call'
      throw new Failure('disk', `other calls hold profiles of ${directory}`, hint)
    }
    await store.makeRecords(directory, plan.records)
    addResults(directory, receipts)
    await store.flushBackup(directory)
    store.renewIdentity(directory)
    return plan
  } catch (error) {
    throw diskFailure(`can't restore ${directory}`, error)
  }
}

/**
 * What stations have found out about devices comes back to their records: that of one station in one file in its order,
 * and else by the clocks.
 */
function addResults(directory: string, receipts: readonly store.Receipt[]): void {
  const numbers = new Map<string, number>()
  for (const { iccid, device, result, time, station, note, source } of receipts) {
    if (result === undefined || device === null) continue
    if (store.recordOf(directory, device)?.iccid !== iccid) continue
    const line = `${device} ${station} ${source?.replace(/:\d+$/, '')}`
    const number = Math.max(Date.parse(time), (numbers.get(line) ?? 0) + 1)
    numbers.set(line, number)
    const known = store.resultsOf(directory, device)
    if (!known.some((each) => each.time === time && each.station === station && each.result === result))
      store.addResult(directory, device, { result, time, station, note }, number)
  }
}

/** What is to be done in a directory. It changes nothing. */
function planOf(directory: string, receipts: readonly store.Receipt[]): Plan {
  const { unused, used, held, aside } = store.look(directory)
  const taken = new Set(used.map(store.iccidOf))
  const names = [...aside, ...unused, ...held.map(({ name }) => name)]
  const here = new Map(names.map((name) => [store.iccidOf(name) ?? '', name]))
  const identities = store.identitiesOf(directory)
  const path = resolve(directory)
  // A share has other paths elsewhere, and a backup may be older than the identity in a receipt. Another computer may have
  // the same path: then too much is put aside. Nothing in the receipts tells the two apart, and too little is worse.
  const isFromHere = (each: store.Receipt) => identities.includes(each.from ?? '') || each.directory === path
  const isMeant = (each: store.Receipt) =>
    taken.has(each.iccid) || here.has(each.iccid) || isFromHere(each) || each.to === path
  if (receipts.length > 0 && !receipts.some(isMeant)) {
    const hint = 'check the directory; if all of its profiles came later, it needs no receipts'
    throw new Failure('no-profiles', `${directory} has none of the profiles that the receipts name`, hint)
  }
  const records = store.records(directory)
  const lines: Plan['lines'] = { used: [], aside: [], missing: [], 'two devices': [], 'two profiles': [] }
  const plan: Plan = { aside: [], used: [], records: [], lines }
  // 1. What was handed out becomes used. Its device gets no other profile, also if the backup lacks this one.
  const said = [...receipts.filter(({ to }) => to === undefined), ...saidByFiles(directory, used)]
  said.sort(byTime)
  // A record does not say when: it comes last.
  said.push(...records.map((own) => ({ ...own, time: '', station: '', directory: path, source: directory })))
  const handedOut = Map.groupBy(said, ({ iccid }) => iccid)
  const recorded = new Set(records.map(({ device }) => device))
  const all: store.Receipt[] = []
  for (const [iccid, own] of handedOut) {
    const holders = holdersOf(own)
    all.push(...holders)
    const [first] = holders
    if (holders.length > 1) lines['two devices'].push(...holders.map(lineOf))
    const device = holders.length > 1 ? undefined : (first?.device ?? undefined)
    const name = here.get(iccid)
    if (!taken.has(iccid) && name !== undefined) {
      const station = first?.station || store.stationName()
      const claimed = first?.time || new Date().toISOString()
      plan.aside.push(name)
      plan.used.push({ name, station, claimed, device })
      lines.used.push(...holders.map(lineOf))
    } else if (!taken.has(iccid)) {
      if (!holders.some(isFromHere)) continue
      // A copy that is made while a call gives a file its new name can lack both.
      lines.missing.push(...holders.map(lineOf))
    }
    if (device === undefined || recorded.has(device)) continue
    recorded.add(device)
    plan.records.push({ device, iccid, isNew: true })
  }
  for (const [device, profiles] of Map.groupBy(all, (each) => each.device))
    if (device !== null && profiles.length > 1) lines['two profiles'].push(...profiles.map(lineOf))
  // 2. Of all others, what left is put aside, and what was leaving when the backup was made.
  const moves = receipts.filter(({ to }) => to !== undefined).sort(byTime)
  const left = new Map(moves.filter(isFromHere).map((each) => [each.iccid, each]))
  const targets = new Map(store.outgoingIn(directory).map(({ id, to }) => [id, to]))
  const leaving = new Map(aside.map((name): [string, string | undefined] => [name, undefined]))
  for (const { name, move } of held) if (move !== undefined) leaving.set(name, targets.get(move))
  for (const [iccid, name] of here) {
    const receipt = left.get(iccid)
    if (taken.has(iccid) || handedOut.has(iccid)) continue
    if (receipt !== undefined) lines.aside.push(`${iccid} left for ${receipt.to}: ${sourceOf(receipt)}`)
    else if (leaving.has(name))
      lines.aside.push(`${iccid} was leaving for ${leaving.get(name) ?? 'an unknown directory'}`)
    else continue
    plan.aside.push(name)
  }
  // What came here since the backup, was not handed out, and went nowhere else after that, died with the disk.
  for (const each of new Map(moves.map((last) => [last.iccid, last])).values())
    if (each.to === path && ![taken, here, handedOut].some((known) => known.has(each.iccid)))
      lines.missing.push(`${each.iccid} came from ${each.directory}: ${sourceOf(each)}`)
  // What is beside a used file goes: a move holds it, or a restore was killed.
  plan.aside.push(...names.filter((name) => taken.has(store.iccidOf(name))))
  return plan
}

const byTime = (one: store.Receipt, other: store.Receipt) =>
  one.time < other.time ? -1 : Number(one.time > other.time)

/** What used files say of themselves. */
function saidByFiles(directory: string, used: readonly string[]): store.Receipt[] {
  return used.flatMap((name) => {
    const file = store.usedName(name)
    const read = store.readUsed(directory, file)
    // It is damaged: nobody knows who has that profile.
    if (typeof read === 'string') return []
    const { claimed: time = '', station = '', device = null } = read
    const [iccid = '', source] = [store.iccidOf(name), join(directory, file)]
    return { iccid, device, time, station, source, directory: resolve(directory), again: true as const }
  })
}

/** The different ones who have a profile. Without a serial number, each call was for another device. */
function holdersOf(said: readonly store.Receipt[]): store.Receipt[] {
  const isCall = ({ device, again }: store.Receipt) => device === null && !again
  const isKnown = said.some(isCall)
  // A repetition without a serial number, and a used file, name nobody else than the call.
  const all = said.filter((each) => each.device !== null || isCall(each) || !isKnown)
  const keyOf = (each: store.Receipt) => each.device ?? (isCall(each) ? `\0${each.time} ${each.station}` : '')
  return [...Map.groupBy(all, keyOf).values()].flatMap(([first]) => first ?? [])
}

const sourceOf = ({ station, source }: store.Receipt) =>
  station === '' ? source : `station ${station}, ${source}`

const lineOf = (said: store.Receipt) =>
  `${said.device ?? 'nobody known'} has ${said.iccid}: ${sourceOf(said)}`
