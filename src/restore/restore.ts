/**
 * Puts a directory that was copied, or that comes from a backup, back into use. What its receipts name as handed out
 * anywhere, or as moved away, becomes used in it, each by a claim like those of other calls: so any number of calls can do
 * it at once, and a call that was killed is simply repeated.
 */
import { join } from 'node:path'
import { Failure, reasonOf, UnusableProfile } from '../failure.ts'
import { pause } from '../pause.ts'
import { iccidDigits } from '../profile/iccid.ts'
import {
  anew,
  claimAll,
  claimable,
  readSettled,
  type Stored,
  type Use,
  usedText,
  useOf,
} from '../store/claim.ts'
import { refuseFailures, settle } from '../store/decision.ts'
import { historyOf, namesDevice, recordAll, recordUsed } from '../store/devices.ts'
import { isSame } from '../store/directory-entries.ts'
import { flushDirectory } from '../store/flush/flush.ts'
import { adopt, copyOf, pathsOf, refuseTwin, thereOf, twinAmong } from '../store/identity.ts'
import { countReceived } from '../store/incoming/answers.ts'
import { lacks } from '../store/incoming/arrive.ts'
import { finishFetches } from '../store/incoming/recover.ts'
import { type Comings, comingsIn } from '../store/listing.ts'
import { movesInto, noteGiven, noteGone, openMoves } from '../store/move-journal.ts'
import { keyOfName } from '../store/names.ts'
import { attempt, PAUSE_MS, ROUNDS } from '../store/patience.ts'
import { arrivedBy, type By, deviceIn, fieldsOf, tombstoneIn, tombstoneText } from '../store/profile-file.ts'
import { FreeList } from '../store/queue.ts'
import {
  deniedBy,
  hasLeft,
  holdersIn,
  lastMoves,
  movesIn,
  numberOf,
  withSeveralIccids,
} from '../store/receipts/last.ts'
import { type Receipt, Receipts } from '../store/receipts/read-receipts.ts'
import { type Messages, several } from '../words.ts'

/** How many profiles are claimed together. */
const AT_ONCE = 1000

interface Restoration {
  readonly directory: string
  /** The files of receipts of all stations; none if nothing was handed out or moved since. */
  readonly files: readonly string[]
  readonly messages: Messages
  readonly progress: { follow(line: () => string): void }
}

/** Of profiles that nobody may have got, the warnings. What the receipts say of one is more. */
type Unprinted = Map<string, () => void>

interface Job extends Restoration {
  readonly unprinted: Unprinted
  /** Those of the directory. */
  readonly paths: readonly string[]
  /** Those of the receipts that lead somewhere now. */
  readonly there: readonly string[]
  /** What the names in the directory say. */
  readonly comings: Comings
  /** The moves into the directory that its marks name. */
  readonly arrived: ReadonlySet<string>
  /** Whether the directory has any of the profiles, or one came to it. */
  isAny: boolean
  /** Those with several ICCIDs by the receipts: which one they use is for a person to find out. */
  readonly unclear: ReadonlySet<string>
  /** Of profiles that came after the backup: the receipts of their moves. */
  readonly missing: ReturnType<typeof movesIn>
  /** Of profiles that a move has, as the used file says, too. */
  readonly left: ReturnType<typeof movesIn>
  /** Moves out of the directory that have given, as the receipts say, each with what other directories handed out of it. */
  readonly given: Map<string, Set<string>>
  /** Moves into the directory, each with what came by it, has left again, and is not in the backup. */
  readonly gone: Map<string, Set<string>>
}

/** What is still to be created for a profile. */
interface Step {
  /** The text of its used file. */
  readonly text: string
  /** If a record comes first: how many the device has. */
  readonly records?: number
}

type Used = Extract<Use, { state: 'used' }>

/**
 * @throws {Failure} `copy-of`, `no-directory`, `unread-directory`, `not-receipts`, `unread-receipts`; `receiving`,
 *   `unreadable` or `not-recorded`: then the same command goes on
 */
export async function restore(restoration: Restoration): Promise<void> {
  const { directory, files, messages } = restoration
  await refuseTwin(directory)
  const unprinted: Unprinted = new Map()
  const warn: Messages['warn'] = (text, kind, iccid) => {
    if (iccid === undefined) messages.warn(text, kind)
    else unprinted.set(iccid, () => messages.warn(text, kind, iccid))
  }
  const held: Messages = { warn, tell: (level, text) => messages.tell(level, text) }
  readSettled(directory, held)
  try {
    await storeReceived(directory, messages)
    if (files.length > 0) await claimNamed(restoration, unprinted)
    await recordUsed(directory)
    readSettled(directory, held)
    FreeList.drop(directory)
    await flushDirectory(directory)
    adopt(directory)
  } catch (error) {
    if (error instanceof Failure) throw error
    throw new Failure('not-recorded', `can't restore ${directory}: ${reasonOf(error)}`, error)
  }
  for (const each of unprinted.values()) each()
  messages.tell(0, `${directory} is restored: it can be used again`)
}

/** What the next call would store could have been handed out since the backup. */
async function storeReceived(directory: string, messages: Messages): Promise<void> {
  await finishFetches(directory, messages)
  const count = countReceived(directory)
  if (count > 0)
    throw new Failure('receiving', `a call may still store ${several(count, 'profile')} in ${directory}`)
}

/** Claims what the receipts name as handed out or moved. */
async function claimNamed(restoration: Restoration, unprinted: Unprinted): Promise<void> {
  const { directory, files, messages, progress } = restoration
  const receipts = await Receipts.read(files, progress)
  try {
    if (receipts.count === 0) throw new Failure('no-receipts-read', `no receipt in ${files.join(', ')}`)
    const unclear = new Set<string>()
    for (const [first] of withSeveralIccids(receipts.byDevice, (line) => receipts.at(line)))
      if (first?.device) unclear.add(first.device)
    const there = await thereOf(receipts.directories)
    // A link or another mount has led to the directory, too.
    const paths = [...pathsOf(directory), ...there.filter((path) => attempt(() => isSame(path, directory)))]
    const job: Job = {
      ...{ ...restoration, unprinted, paths, there, unclear },
      ...{ arrived: movesInto(directory), comings: comingsIn(directory) },
      ...{ isAny: false, missing: [], left: [], given: new Map(), gone: new Map() },
    }
    const tally = { profiles: 0, claimed: 0 }
    const stations = new Set<string>()
    progress.follow(() => `${several(tally.profiles, 'profile')} compared`)
    for (const some of inParts(receipts.profiles())) {
      for (const { station } of some.flat()) stations.add(station)
      tally.claimed += await claimThese(job, some)
      tally.profiles += some.length
    }
    for (const [id, iccids] of job.gone) await noteGone(directory, id, iccids)
    warnOfMissing(messages, job.missing, `came to ${directory} after the backup`)
    const original = twinAmong(there, directory)
    if (original !== undefined) throw copyOf(directory, original)
    warnOfUngiven(job)
    if (!job.isAny)
      throw new Failure('other-receipts', `${directory} has none of the profiles that the receipts name`)
    const whose = stations.size > 0 ? ` of ${[...stations].sort().join(', ')}` : ''
    const marked = `${several(tally.claimed, 'profile')} in ${directory} marked used`
    messages.tell(0, `${marked}, as the receipts${whose} say`)
  } finally {
    receipts.close()
  }
}

function* inParts<T>(all: Iterable<T>): Generator<T[]> {
  const some: T[] = []
  for (const each of all) if (some.push(each) === AT_ONCE) yield some.splice(0)
  yield some
}

/**
 * @param all the receipts of each profile
 * @returns how many of the profiles it has marked used
 */
async function claimThese(job: Job, all: readonly Receipt[][]): Promise<number> {
  const { directory } = job
  let open = all
  let claimed = 0
  for (let rounds = ROUNDS; ; rounds--) {
    const steps = open.map((receipts) => stepFor(job, receipts))
    open = open.filter((_, at) => steps[at] !== undefined)
    const wanted = steps.filter((step) => step !== undefined)
    await noteAllGiven(job, wanted)
    if (wanted.length === 0) return claimed
    if (rounds === 0) throw new Failure('busy-claim', `another call is claiming ${open[0]?.[0]?.iccid}`)
    if (rounds < ROUNDS) pause(PAUSE_MS)
    const toRecord = wanted.filter((step): step is Step & { records: number } => step.records !== undefined)
    const recorded = await recordAll(directory, toRecord)
    refuseFailures(recorded)
    const late = new Set<Step>(toRecord.filter((_, at) => recorded[at]?.state !== 'ours'))
    const texts = wanted.flatMap((step) => (late.has(step) ? [] : step.text))
    const outcomes = await claimAll(directory, texts)
    refuseFailures(outcomes)
    claimed += outcomes.filter(({ state }) => state === 'ours').length
  }
}

/**
 * What the receipts say of a move, or what it moved, says that it was given: it can't be taken back.
 * @throws the system error
 */
async function noteAllGiven({ directory, given }: Job, steps: readonly Step[]): Promise<void> {
  for (const { text } of steps) addGiven(given, tombstoneIn(text)?.move)
  for (const [id, names] of given) await noteGiven({ id, source: directory }, [...names])
  given.clear()
}

function addGiven(given: Job['given'], id: string | undefined, ...names: readonly string[]): void {
  if (id !== undefined) given.set(id, new Set([...(given.get(id) ?? []), ...names]))
}

/**
 * What is still to be done for a profile. What is used stays as it is, unless nobody is known to have it.
 * @returns undefined if nothing is
 */
function stepFor(job: Job, receipts: readonly Receipt[]): Step | undefined {
  const { directory, messages } = job
  const iccid = receipts[0]?.iccid ?? ''
  job.unprinted.delete(iccid)
  try {
    let use = useOf(directory, iccid, job.comings)
    if (use.state === 'claimed') {
      settle(directory, keyOfName(use.name))
      use = useOf(directory, iccid, job.comings)
    }
    job.isAny ||= use.state !== 'gone' || movesIn(receipts).some(({ move }) => job.arrived.has(move.id))
    noteGivenBy(job, receipts, use)
    if (use.state === 'gone') noteGoneBy(job, receipts)
    const [holder, another] = holdersIn(receipts)
    if (holder === undefined) return stepOfMove(job, receipts, use)
    if (use.state === 'gone' && holder.device !== null && job.paths.includes(holder.directory)) {
      messages.warn(`${iccid}, which device ${holder.device} has, is not in ${directory}`)
      noteMissing(job, receipts)
    }
    const isClear = another === undefined && holder.device !== null && !job.unclear.has(holder.device)
    return (isClear ? stepOfDevice(job, holder, use) : undefined) ?? stepOfAnybody(job, holder, use)
  } catch (error) {
    if (!(error instanceof UnusableProfile)) throw error
    job.isAny = true
    // Somebody would get it as soon as it can be read again.
    if (error.fault !== 'damaged')
      throw new Failure('unreadable', `can't restore ${iccid} in ${directory}: ${error.message}`, error)
    messages.warn(`${iccid} stays as it is: ${error.message}`)
    return undefined
  }
}

/** The move that has the profile has given it, if a receipt of that move says so, or if another directory had it then. */
function noteGivenBy({ paths, given }: Job, receipts: readonly Receipt[], use: Use): void {
  if (use.state !== 'used') return
  const tombstone = tombstoneIn(use.text)
  const id = tombstone?.move
  const isOut = receipts.some(
    ({ move, directory }) =>
      !paths.includes(directory) &&
      (move === undefined || (move.id !== id && move.from === tombstone?.profile.from)),
  )
  const isGiven = receipts.some(({ move }) => move?.id === id)
  if (isOut || (isGiven && hasLeft(receipts, id))) addGiven(given, id, use.name)
  else if (isGiven) addGiven(given, id)
}

/**
 * The call that finishes a move into the directory must not give once more what came by it and has left again. A receipt may
 * not tell by which move it came.
 */
function noteGoneBy({ paths, arrived, gone }: Job, receipts: readonly Receipt[]): void {
  const isHandedOut = receipts.some(({ move }) => move === undefined)
  const wasHere = receipts.some(({ directory }) => paths.includes(directory))
  const known = movesIn(receipts).flatMap(({ move: { id } }) => (arrived.has(id) ? id : []))
  const left = known.filter((id) => isHandedOut || hasLeft(receipts, id))
  const isTold = movesIn(receipts).some(({ move }) => paths.includes(move.to))
  for (const id of known.length === 0 && wasHere && !isTold ? arrived : left)
    addGiven(gone, id, receipts[0]?.iccid ?? '')
}

/** The device has the profile: its record comes first, so that the next call for it prints the same profile. */
function stepOfDevice(job: Job, holder: Receipt, use: Use): Step | undefined {
  const [{ directory }, device] = [job, holder.device ?? '']
  const { assignment, records } = historyOf(directory, device)
  // If it has another one, which one it uses is for a person to find out.
  if (assignment !== undefined && namesDevice(assignment)) return undefined
  if (assignment !== undefined && iccidDigits(String(fieldsOf(assignment.text)['iccid'])) === holder.iccid)
    return { text: assignment.text }
  if (use.state === 'used' && deviceIn(use.text) === device)
    return { text: JSON.stringify({ ...fieldsOf(use.text), file: use.name }), records }
  // Another call has claimed it for somebody. What somebody renamed does not say so, and after what a killed call claimed,
  // the device has got the next number.
  const isOthers = use.state === 'used' && fieldsOf(use.text)['claimed'] !== undefined
  if (isOthers && numberOf(holder.file) <= numberOf(use.name)) return undefined
  const stored = cameBack(holder, use) ?? claimable(directory, use)
  return stored && { text: usedText(stored, device, byOf(holder)), records }
}

/** Somebody has the profile, or several say so: no other device gets it. */
function stepOfAnybody(job: Job, holder: Receipt, use: Use): Step | undefined {
  const stored = cameBack(holder, use) ?? (use.state === 'used' ? undefined : claimable(job.directory, use))
  return stored && { text: usedText(stored, deviceIn(stored.stored), byOf(holder)) }
}

/** What a move had at the time of the backup, and what left this directory under a higher number since: it had come back. */
function cameBack({ file }: Receipt, use: Use): Stored | undefined {
  const tombstone = use.state === 'used' ? tombstoneIn(use.text) : undefined
  if (use.state !== 'used' || tombstone === undefined) return undefined
  return numberOf(file) > numberOf(use.name) ? anew(use.name, JSON.stringify(tombstone.profile)) : undefined
}

/** Another directory has the profile, or may have it. */
function stepOfMove(job: Job, receipts: readonly Receipt[], use: Use): Step | undefined {
  const { directory, paths } = job
  if (use.state === 'used') return stepOfReturn(job, receipts, use)
  if (use.state === 'gone') noteMissing(job, receipts)
  const stored = claimable(directory, use)
  if (stored === undefined || use.state === 'gone') return undefined
  const came = arrivedBy(stored.stored)
  const left = movesIn(deniedBy(directory, receipts, stored))
  const out = left.find(({ move }) => move.from === came) ?? left[0]
  if (out === undefined) return undefined
  // Whether it is back is not known: paths lead to other directories elsewhere, and a move may have no receipt.
  const isUnclear = came !== undefined && out.move.from !== came
  const isHome = (path: string) => paths.includes(path) || path === out.directory
  const isBack = lastMoves(receipts).some(({ move }) => isHome(move.to) && move.id !== came)
  if (isBack || isUnclear) return stepOfUnknown(job, out, stored)
  return { text: textOfMove(out, stored) }
}

/** What the used file of a profile says that has left; a receipt may not tell by which move. */
function textOfMove(left: ReturnType<typeof movesIn>[number], stored: Stored): string {
  const text = tombstoneText({ id: left.move.id }, left.move.to, stored, byOf(left))
  return tombstoneIn(text) === undefined ? usedText(stored, undefined, byOf(left)) : text
}

/** A profile that came after the backup is in the used file of the directory that it left. */
function noteMissing({ paths, missing }: Job, receipts: readonly Receipt[]): void {
  const last = lastMoves(receipts)
  const [came] = last
  if (came !== undefined && last.every(({ move }) => paths.includes(move.to))) missing.push(came)
}

/** The directory is from before the profile came back to it. */
function stepOfReturn(job: Job, receipts: readonly Receipt[], { name, text }: Used): Step | undefined {
  const tombstone = tombstoneIn(text)
  const moves = movesIn(receipts)
  // It may have had another path.
  const homes = moves.flatMap((each) => (each.move.id === tombstone?.move ? each.directory : []))
  const isHome = (path: string) => job.paths.includes(path) || homes.includes(path)
  if (tombstone === undefined) return undefined
  const stored = anew(name, JSON.stringify(tombstone.profile))
  const came = lastMoves(receipts).find(({ move }) => isHome(move.to) && move.id !== tombstone.profile.from)
  if (came !== undefined) return stepOfUnknown(job, came, stored)
  const given = moves.find(({ move }) => move.id === tombstone.move)
  if (given !== undefined) return void job.left.push({ ...given, directory: job.directory })
  // It was taken back, and has left again.
  const out = moves.find(({ move }) => move.from === tombstone.profile.from)
  return out && { text: textOfMove(out, stored) }
}

/** Whether somebody has it since it may have come back is not known. */
function stepOfUnknown({ directory, messages }: Job, by: Receipt, stored: Stored): Step {
  const { iccid } = by
  messages.warn(`${iccid} left ${directory} and may have come back: it is marked used`, 'returned', iccid)
  return { text: usedText(stored, undefined, byOf(by)) }
}

/** A move that was killed after its receipts has not given. If its target is connected, that says what it lacks. */
function warnOfUngiven({ directory, messages, left, there }: Job): void {
  // These can go on.
  const open = new Set(openMoves(directory).map(({ move }) => move.id))
  for (const [to, all] of Map.groupBy(left, ({ move }) => move.to)) {
    if (!there.includes(to)) continue
    const lost = all.filter(({ move: { id }, iccid }) => !open.has(id) && attempt(() => lacks(to, id, iccid)))
    warnOfMissing(messages, lost, `left for ${to}`)
  }
}

/** Nobody has them: only the directories that they left can say what they are. */
function warnOfMissing(messages: Messages, missing: Job['missing'], how: string): void {
  const [first] = missing
  if (first === undefined) return
  for (const { iccid, directory: from, file } of missing.slice(1))
    messages.tell(1, `${iccid} ${how}: ${join(from, file)} still has it`)
  const has = `${join(first.directory, first.file)} still has it`
  messages.warn(
    missing.length === 1
      ? `${first.iccid} ${how} and is not in it: ${has}`
      : `${missing.length} profiles ${how} and are not in it, such as ${first.iccid}: ${has}`,
    'after-backup',
  )
}

const byOf = ({ station, time }: Receipt): By => ({ station, time })
