/** What must be true after a schedule. */
import { iccid } from '../../../test/support/profiles.ts'
import { type After, aftermathOf, isGuarded, isWaiting, lotsOf } from './aftermath.ts'
import { type Call, callOf, type Print, type Result, type World } from './engine.ts'
import {
  fieldsOf,
  LOT,
  LOTS,
  ordersIn,
  type Place,
  placesIn,
  placesOf,
  RECEIPTS,
  receiptsOf,
  recordsIn,
  textOf,
} from './names.ts'
import { allCalls, wantOf } from './scenarios.ts'
import { faultsOf, hasFault, type Schedule } from './text.ts'

export interface Violation {
  readonly rule: string
  readonly what: string
}

/** A schedule that was run. */
interface Case {
  readonly world: World
  readonly schedule: Schedule
  readonly faults: ReturnType<typeof faultsOf>
}

/** And what came after it. */
interface Whole extends Case {
  readonly after: After
  readonly prints: readonly Print[]
}

/** @returns what was violated; undefined if nothing was */
export async function judge(world: World, schedule: Schedule): Promise<Violation | undefined> {
  const its: Case = { world, schedule, faults: faultsOf(schedule) }
  const [now] = [
    ...world.calls.flatMap((call, at) => [...codes(its, call, at)]),
    ...twice(world.prints),
    ...severalFor(world.prints, schedule),
    ...receipts(world),
    ...falseAdvice(world),
    ...inTwoPlaces(its),
    ...open(its),
    ...costly(its),
  ]
  if (now !== undefined) return now
  for (const some of subsetsOf(world.backup === undefined ? [] : receiptsOf(world.disk))) {
    const after = await aftermathOf(world, schedule, some)
    const whole = { ...its, after, prints: [...world.prints, ...after.world.prints] }
    const [found] = later(whole)
    if (found !== undefined)
      return { ...found, what: some.length > 0 ? `${found.what} (${some})` : found.what }
  }
  return undefined
}

const later = (whole: Whole): Violation[] => [
  ...twice(whole.prints),
  ...(isContradiction(whole) ? [] : severalFor(whole.prints, whole.schedule)),
  ...notQuiet(whole),
  ...lost(whole),
  ...unnamed(whole),
  ...wrongRecords(whole),
  ...failedLater(whole),
  ...whole.after.more.map((what) => ({ rule: 'moved more', what })),
]

/** With some of the receipts, a device may have got the wrong profile: the call with all of them has said so. */
const isContradiction = ({ after }: Whole): boolean =>
  after.isPartial &&
  after.asked.some(({ what, result }) => what === 'restore' && result.outcome === 'unusable')

const subsetsOf = (all: readonly string[]): string[][] =>
  Array.from({ length: 2 ** all.length }, (_, bits) => all.filter((_path, at) => (bits >> at) & 1))

const shown = ({ iccid: who, device, isAgain, call }: Print) =>
  `${who} by ${call}${device === undefined ? '' : ` for ${device}`}${isAgain ? ' again' : ''}`

/** A profile is printed for the first time by one call, or by several calls at once for one device. */
function* twice(prints: readonly Print[]): Generator<Violation> {
  for (const all of Map.groupBy(prints, (each) => each.iccid).values()) {
    const firsts = all.filter(({ isAgain }) => !isAgain)
    const owners = new Set(firsts.map(({ device, call }) => device ?? `call ${call}`))
    const devices = new Set(all.flatMap(({ device }) => device ?? []))
    if (owners.size > 1 || devices.size > 1) yield { rule: 'twice', what: all.map(shown).join(', ') }
  }
}

/** A device has one profile. */
function* severalFor(prints: readonly Print[], { calls }: Schedule): Generator<Violation> {
  const named = prints.filter(({ device }) => device !== undefined)
  // Two spellings are one device, unless somebody says that they are two.
  const isTwo = calls.includes('newLowerD')
  for (const all of Map.groupBy(named, ({ device }) => (isTwo ? device : device?.toUpperCase())).values())
    if (new Set(all.map((each) => each.iccid)).size > 1)
      yield { rule: 'two for a device', what: all.map(shown).join(', ') }
}

/**
 * Where every call has ended well, no move is open: the disk may be taken away from whoever could finish it. A disk that is
 * away for one step and back for the next one deceives; and where a power cut undoes the last name, that does harm only on a
 * stick.
 */
function* open({ world, schedule, faults }: Case): Generator<Violation> {
  const isBack = schedule.segments.filter(({ event }) => event?.startsWith('%')).length > 1
  const isUndone = faults.hasCut && schedule.kind !== 'stick'
  if (schedule.start.includes('!') || isBack || isUndone) return
  if (world.calls.some(({ result }) => result?.outcome !== 'done')) return
  for (const lot of LOTS)
    for (const { names } of ordersIn(world.disk, lot)) yield { rule: 'open', what: `${lot}: ${names}` }
}

/** Outcomes that are not the program's fault, if the disk or somebody else is at fault. */
const TROUBLE = ['disk', 'interrupted', 'service']

function* codes(its: Case, call: Call, at: number): Generator<Violation> {
  const { world, faults, schedule } = its
  const { result, id } = call
  const name = schedule.calls[at] ?? ''
  if (result === undefined) return
  const { outcome, error } = result
  const { count = 0, directory = LOT, moves } = wantOf(name)
  const wrong = (why: string) => ({ rule: 'codes', what: `${id} ${name}: ${outcome}, ${why}: ${error}` })
  if (outcome === 'bug') yield wrong('a bug')
  const printed = world.prints.filter((print) => print.call === id).length
  if (printed !== (outcome === 'done' ? count : 0)) yield wrong(`${printed} printed`)
  // A call that is killed does no harm to the others.
  if (hasFault({ ...faults, hasKill: false })) return
  if (TROUBLE.includes(outcome)) {
    // A list that is old over sshfs says that an order is still there; a call that stands still or was killed has a guard.
    const isOld = schedule.kind === 'sshfs' && error.includes("can't be read")
    if (!faults.hasLongNap && !isOld && !isGuarded(world, result) && !isTakenBack(its, call, at))
      yield wrong('nothing failed')
    return
  }
  // A move takes what it gets, and the next one of the same call may find nothing. While a call stands still that has the
  // guard of a profile, nobody gets that.
  const isShort =
    outcome === 'no-profiles' && moves === undefined && directory === LOT && !isWaiting(world, result)
  if (isShort && wantedIn(its) <= schedule.profiles) yield wrong('there were enough')
  if (!/^(done|no-profiles)$/.test(outcome) && !isMistake(schedule, name, outcome))
    yield wrong('nothing is wrong')
}

/** Who takes a move back while it runs is told so: it may hold more by then, and gives that back itself. */
const isTakenBack = ({ world, schedule }: Case, { result, endedAt = 0 }: Call, at: number) =>
  schedule.calls[at] === 'back' &&
  result?.error.startsWith('other calls hold') === true &&
  world.calls.some((other, index) => {
    const { moves } = wantOf(schedule.calls[index] ?? '')
    return index !== at && moves !== undefined && (other.endedAt ?? Number.POSITIVE_INFINITY) > endedAt
  })

/** What a person has asked for that can't be: two spellings of one device, or a device that has a profile. */
const isMistake = ({ calls }: Schedule, name: string, outcome: string) =>
  (outcome === 'usage' && calls.some((each) => /lowerD$/i.test(each))) ||
  (outcome === 'has-profile' && /^(new|bind)/.test(name)) ||
  // Until restore has ended.
  (outcome === 'copy' && calls.includes('restore')) ||
  // Somebody else may have the profile that a device is to get.
  (outcome === 'unusable' && name === 'bindD')

/** How many profiles all calls want at most, whoever is first. Those that were killed have what they have decided. */
function wantedIn({ world, schedule: { start, calls } }: Case): number {
  const used = [...placesIn(world.disk, LOT).values()].flatMap(([place]) => place ?? [])
  const wanted = [...allCalls(start, []), ...calls].map((name, at) => {
    const call = world.calls[at - allCalls(start, []).length]
    const { count = 0, moves = [], iccid: own } = wantOf(name)
    if (call?.state === 'dead' && moves.length === 0)
      return used.filter(({ fields }) => callOf(String(fields['claim'])) === call.id).length
    // What somebody names or takes home is not there for all.
    return own !== undefined || name === 'back' ? Number.POSITIVE_INFINITY : count + (moves[0]?.count ?? 0)
  })
  return wanted.reduce((sum, each) => sum + each, 0)
}

/** What is printed has a receipt. */
function* receipts({ disk, calls, prints }: World): Generator<Violation> {
  for (const { id } of calls)
    for (const print of prints)
      if (print.call === id && !textOf(disk, `${RECEIPTS}/${id}`).includes(print.iccid))
        yield { rule: 'receipt', what: shown(print) }
}

/** No call says of what it prints that it is perhaps not printed: whoever obeys prints it again, for another device. */
function* falseAdvice({ calls, prints }: World): Generator<Violation> {
  for (const { call, iccid: who } of prints) {
    const told = calls.find(({ id }) => id === call)?.told ?? []
    const [what] = told.filter((text) => text.startsWith(`${who} was claimed`) && text.includes('--iccid'))
    if (what !== undefined) yield { rule: 'false advice', what: `${call}: ${what}` }
  }
}

const paths = (places: readonly Place[]) => places.map(({ path }) => path).join(', ') || 'nothing'

const inUse = (places: readonly Place[]) =>
  places.filter(({ state }) => state === 'unused' || state === 'used')

/** At any time, a profile is unused or used in one directory at most. */
function* inTwoPlaces({ world, schedule, faults }: Case): Generator<Violation> {
  // Before it is restored, a backup has what others have, too, and nobody can use it.
  if (isTornByCut(world, faults) || /^(backup|unpacked)$/.test(schedule.start)) return
  for (const places of placesOf(world.disk, lotsOf(schedule)).values())
    if (inUse(places).length > 1) yield { rule: 'in two places', what: paths(inUse(places)) }
}

/** On FAT, a power cut or a pulled stick amid a call may cost its profiles. */
const isTornByCut = ({ kind }: World, { hasCut, hasPull }: Case['faults']) =>
  kind.fatAt === '/' && (hasCut || hasPull)

/** A call that was killed before it decided has cost nothing. */
function* costly({ world, schedule }: Case): Generator<Violation> {
  for (const [who, places] of placesOf(world.disk, lotsOf(schedule)))
    for (const { state, fields } of places) {
      const tag = String(fields['claim'])
      const owner = world.calls.find(({ id }) => state === 'used' && id === callOf(tag))
      if (owner?.state !== 'dead' || world.prints.some(({ iccid: printed }) => printed === who)) continue
      const hasDecided = owner.log.some(({ name }) => name.startsWith('rename') && name.endsWith(`/.!${tag}`))
      if (!hasDecided)
        yield { rule: 'costly', what: `${who} is used by ${owner.id}, which did not decide it` }
    }
}

/** Once all is quiet, a profile is in one place, and nothing is held or on its way. */
function* notQuiet({ after, world, schedule, faults }: Whole): Generator<Violation> {
  if (isTornByCut(world, faults)) return
  for (const [, places] of after.quiet) {
    // What lies aside, for a person, may be elsewhere; what was handed out elsewhere is used in a restored directory, too.
    const others = places.filter(({ state }) => state !== 'aside')
    const isUsed = world.backup !== undefined || schedule.calls.includes('restore')
    const isOne =
      (others.length < 2 || (isUsed && others.every(({ state }) => state === 'used'))) &&
      inUse(others).length === others.length
    if (!isOne) yield { rule: 'in two places', what: `in the end: ${paths(others)}` }
  }
  // Where a move went that is finished, the next one removes. A list that is old says that it is not finished.
  const isExcused = hasFault(faults) || schedule.start.includes('!') || schedule.kind === 'sshfs'
  const left = after.left.filter((path) => !isExcused || !path.includes('/.outgoing/'))
  if (left.length > 0) yield { rule: 'left', what: left.join(', ') }
}

/** All that there was, and that an answer has brought which was put aside. */
function* lost({ world, schedule, faults, after }: Whole): Generator<Violation> {
  if (isTornByCut(world, faults)) return
  const { profiles, calls } = schedule
  const all = Array.from({ length: profiles }, (_, n) => iccid(n + 1))
  // Also one whose call has said that others store it.
  const isStored = calls.some((name, at) => {
    const { outcome, hint = '' } = world.calls[at]?.result ?? {}
    return name.startsWith('store') && (outcome === 'done' || hint.includes('stores them'))
  })
  if (isStored) all.push(iccid(profiles + 1))
  const places = placesOf(after.world.disk, lotsOf(schedule))
  for (const who of all) {
    if (isGone({ world, schedule }, who)) continue
    const own = places.get(who) ?? []
    const isWhole = own.some(({ state, fields }) => /^(used|aside)$/.test(state) && fields['iccid'] === who)
    if (!isWhole) yield { rule: 'lost', what: `${who}: ${paths(own)}` }
  }
}

/** What came to the first directory after its backup, and what the lost stick has got, is gone with the disk. */
function isGone({ world, schedule }: Pick<Whole, 'world' | 'schedule'>, who: string): boolean {
  if (schedule.calls.includes('lost') && !placesIn(world.disk, LOT).has(who)) return true
  if (world.backup === undefined) return false
  const disk = world.disk.copy()
  disk.restore(LOT, world.backup)
  return !placesIn(disk, LOT).has(who)
}

const isTold = (results: readonly (Result | undefined)[], who: string) =>
  results.some((each) => [...(each?.told ?? []), each?.error, each?.hint].some((text) => text?.includes(who)))

/** What is used and was not printed is named by somebody. */
function* unnamed({ world, schedule, after, faults }: Whole): Generator<Violation> {
  if (isTornByCut(world, faults) || world.backup !== undefined) return
  const printed = new Set(
    [...world.prints, ...after.world.prints.filter(({ isAgain }) => !isAgain)].map((each) => each.iccid),
  )
  // Whoever asks for it by its ICCID knows it.
  const others = after.asked.filter(({ what }) => what !== 'iccid')
  const results = [...world.calls, ...others].map(({ result }) => result)
  const said = world.calls.flatMap(({ told }) => told)
  for (const [who, places] of after.quiet)
    if (places.some(({ state }) => state === 'used') && !printed.has(who) && !isTold(results, who))
      if (!said.some((text) => text.includes(who)) && !isKnown(schedule, places))
        yield { rule: 'unnamed', what: `${who} is used, was not printed, and no call names it` }
}

/** What receipts name needs no other word. */
const isKnown = ({ calls }: Schedule, places: readonly Place[]) =>
  calls.includes('restore') && places.some(({ lot }) => lot === LOT)

/** A record is only of what its device holds, and a device has one. */
function* wrongRecords(whole: Whole): Generator<Violation> {
  const { world, schedule, faults, after } = whole
  if (isTornByCut(world, faults) || isContradiction(whole)) return
  const { disk } = after.world
  for (const lot of lotsOf(schedule)) {
    const records = recordsIn(disk, lot)
    for (const { device, iccid: who } of records) {
      const used = fieldsOf(textOf(disk, `${lot}/__${who}.json`))
      // Restore records a profile for its device that the backup has not got.
      if (world.backup !== undefined && Object.keys(used).length === 0) continue
      if (used['device'] !== device)
        yield { rule: 'record', what: `${device} has ${who}: ${JSON.stringify(used)}` }
    }
    for (const [who, [place]] of placesIn(disk, lot)) {
      const device = place?.state === 'used' ? place.fields['device'] : undefined
      const own = records.filter((each) => each.device === device).map((each) => each.iccid)
      if (device !== undefined && String(own) !== who)
        yield { rule: 'record', what: `${who} is used for ${device}, which has ${own}` }
    }
  }
}

/** Whoever asks afterwards gets an answer. */
function* failedLater(whole: Whole): Generator<Violation> {
  const { after, world, schedule, faults } = whole
  if (isTornByCut(world, faults)) return
  for (const { what, whose, result } of after.asked) {
    const { outcome, error } = result
    // Receipts may name none of the profiles of a backup.
    const isFine = outcome === 'done' || (what !== 'iccid' && outcome === 'no-profiles')
    const isExpected =
      (what === 'device' && isMistake(schedule, what, outcome)) ||
      isGuarded(world, result) ||
      (world.backup !== undefined && error.includes('its file is gone')) ||
      (outcome === 'unusable' && isContradiction(whole))
    if (!isFine && !isExpected) yield { rule: 'after', what: `${what} ${whose}: ${outcome}, ${error}` }
  }
}
