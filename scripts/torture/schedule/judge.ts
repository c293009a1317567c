/** What must be true after a schedule. */
import { iccid } from '../../../test/support/profiles.ts'
import { type After, aftermathOf, movesOf } from './aftermath.ts'
import type { Disk } from './disk.ts'
import type { Call, Entry, Print, Result, World } from './engine.ts'
import { moveCodes, nothingMoved, said, tooMany, transit, unusedTwice } from './judge-moves.ts'
import { LOT, LOTS, parseName, profilesIn, RECEIPTS } from './names.ts'
import type { Case, Violation } from './run.ts'
import { begunMoves, TORN, textOf, WANTS } from './scenarios.ts'
import { faultsOf, hasFault, isPausedForLong, type Schedule } from './text.ts'

/** @returns what was violated; undefined if nothing was */
export async function judge(world: World, schedule: Schedule): Promise<Violation | undefined> {
  const its = { world, schedule, faults: faultsOf(schedule) }
  const now = [
    ...world.calls.map((call, at) => codeOf(its, call, at)),
    ...twice(world.prints, world),
    ...severalFor(world.prints),
    ...unnamed(its),
    ...misnamed(its),
    ...unusedTwice(world.disk),
    ...freed(its),
    ...moveCodes(its),
    ...said(its),
    ...receipts(world),
    ...torn(world.disk, schedule),
  ]
  const first = now.find((each) => each !== undefined)
  if (first !== undefined) return first
  const later = await aftermathOf(world, schedule, false)
  const { disk } = later.world
  const prints = [...world.prints, ...later.world.prints]
  const told = [...world.calls.flatMap(({ result }) => result ?? []), ...later.results]
  const all = { ...its, later, told }
  const found = [
    ...later.results.map((result) => internalError(result)),
    ...twice(prints, world),
    ...severalFor(prints),
    ...lost(all),
    ...prints
      .filter(({ iccid }) => !isWhole(disk, iccid, 'used'))
      .map((print) => ({ rule: 'printed without used file', what: shown(print) })),
    ...twins(all),
    ...stuck(all),
    ...notRestored(later, schedule),
    ...transit(later),
    ...tooMany(its, later),
    ...nothingMoved(its, later),
    ...unusedTwice(disk),
    ...torn(disk, schedule),
    ...later.freed.map((each) => ({ rule: 'freed', what: `${each} has none, and then it has` })),
  ].find((each) => each !== undefined)
  if (found !== undefined) return found
  // The recipe for that is `move` itself.
  if (movesOf(schedule).length > 0) return undefined
  const both = [...world.prints, ...(await aftermathOf(world, schedule, true)).world.prints]
  const apart = [...twice(both, world), ...severalFor(both)].find((each) => each !== undefined)
  return apart && { rule: 'split', what: `the unused files are moved elsewhere: ${apart.what}` }
}

/** With what everybody got who asked again, and all that was said. */
interface Whole extends Case {
  readonly later: After
  readonly told: readonly Result[]
}

export const shown = ({ iccid, device, isAgain, call }: Print) =>
  `${iccid} by ${call}${device === undefined ? '' : ` for ${device}`}${isAgain ? ' again' : ''}`

/**
 * An ICCID is printed for the first time once, or by several calls at once for one device. What is printed again is for
 * the same device. It may come before the first print only if the profile was that call's by then: the used file was
 * its own, or it had removed the unused file before the other one looked.
 */
function* twice(prints: readonly Print[], world: World): Generator<Violation | undefined> {
  for (const [iccid, all] of Map.groupBy(prints, (print) => print.iccid)) {
    const what = `${all.map(shown).join(', ')} (${iccid})`
    if (hasSeveralOwners(all)) yield { rule: 'twice', what }
    const first = all.find(({ isAgain }) => !isAgain)
    if (first === undefined) continue
    for (const print of all) {
      if (!print.isAgain || print.call === first.call) continue
      if (print.device !== undefined && print.device === first.device) continue
      if (print.device !== undefined || isEarly(print, first, all, world)) yield { rule: 'twice', what }
    }
  }
}

/** Whether a profile was printed for the first time by several calls, or for several devices. */
export function hasSeveralOwners(all: readonly Print[]): boolean {
  const firsts = all.filter(({ isAgain }) => !isAgain)
  const owners = new Set(firsts.map(({ device, call }) => (device === undefined ? `call ${call}` : device)))
  return owners.size > 1 || new Set(all.flatMap(({ device }) => device ?? [])).size > 1
}

/** Whether a profile was printed again before it was handed out for the first time. */
function isEarly(print: Print, first: Print, all: readonly Print[], world: World): boolean {
  if (all.indexOf(print) > all.indexOf(first) || print.owners.includes(first.call)) return false
  const call = world.calls.find(({ id }) => id === print.call)
  const file = `${LOT}/__${print.iccid}.json`
  const looked = call?.log.findLast(
    ({ name, path, error }) => name.startsWith('open') && path === file && error === undefined,
  )
  const before = world.changes.filter(({ at }) => at <= (looked?.at ?? 0))
  const gone = before.findLastIndex(({ unused }) => unused.includes(print.iccid))
  return before[gone + 1]?.call !== first.call
}

/** A device has one profile. */
export function* severalFor(prints: readonly Print[]): Generator<Violation> {
  const named = prints.filter(({ device }) => device !== undefined)
  for (const [device, all] of Map.groupBy(named, (print) => print.device)) {
    if (new Set(all.map((each) => each.iccid)).size > 1)
      yield { rule: 'two for a device', what: `${device}: ${all.map(shown).join(', ')}` }
  }
}

/** What a call says of one profile that it was asked for, and that nobody has ever removed. */
const NOT_THERE = /file is gone|check the ICCID|from a backup/

function codeOf({ world, schedule, faults }: Case, call: Call, at: number): Violation | undefined {
  const { result, id } = call
  const name = schedule.calls[at] ?? ''
  // How another tool ends is its own affair.
  if (result === undefined || name.startsWith('rename')) return undefined
  const { code, error } = result
  const { refused, hasCut, isStopped } = faults
  const { count = 0, iccid: own, isNew, isOnStick = false } = WANTS[name] ?? {}
  const printed = world.prints.filter((print) => print.call === id).length
  const wrong = (why: string) => ({
    rule: 'codes',
    what: `${id} ${name} exits with ${code}, ${why}: ${error}`,
  })
  const internal = internalError(result)
  if (internal !== undefined) return internal
  if (name === 'iccidall') return undefined
  if (code === 0 && printed !== count) return wrong(`${printed} printed`)
  if (code !== 0 && printed > 0) return wrong(`${printed} printed`)
  if (hasCut || refused.has(at)) return undefined
  if (isStopped.has(at) && code === 130) return undefined
  if (schedule.start === 'damaged' && isOnStick) return isSilent(world, call) ? wrong(UNSAID) : undefined
  if (code !== 0 && /^rounds?$/.test(name) && schedule.calls.length === 1 && !hasFault(faults))
    return wrong('the lot comes home')
  if (code === 5) return wrong('nothing is damaged')
  if (code === 10 && schedule.start !== 'backup') return wrong('nothing is a copy')
  if (code === 9 && !hasFault(faults) && !isPausedForLong(schedule)) return wrong('nothing failed')
  if (code === 3 && !isOnStick && NOT_THERE.test(error + result.hint)) return wrong('it is there')
  // A call for another device may be claiming the profile that a power cut left recorded and unused.
  if (code === 3 && schedule.start === 'assigned' && /another call is claiming/.test(error)) return undefined
  // A call that passes over a file because of an error may have had it for a moment.
  if (isOnStick || begunMoves(schedule.start).length > 0) return undefined
  const isForAny = count > 0 && own === undefined && !isNew
  if (code === 3 && isForAny && refused.size === 0 && leastFree(world, call, schedule) >= count)
    return wrong('there were enough')
  return undefined
}

const UNSAID = 'and does not name the damaged file'

/** Nobody else is writing files: whoever finds none says why. */
function isSilent({ calls }: World, call: Call): boolean {
  const { result, beganAt = 0 } = call
  const isAlone = calls.every((other) => other === call || other.state === 'dead' || other.endedAt <= beganAt)
  return isAlone && result !== undefined && result.code !== 0 && !isTold([result], iccid(9))
}

function internalError({ code, error }: Result): Violation | undefined {
  return code === 1 ? { rule: 'codes', what: `internal error ${error}` } : undefined
}

/** How many profiles were free at the worst moment in the life of a call. */
function leastFree({ changes }: World, { beganAt = 0, endedAt }: Call, { start }: Schedule): number {
  const from = changes.findLastIndex(({ at }) => at <= beganAt)
  const counts = changes
    .slice(Math.max(0, from))
    .flatMap(({ at, free }) => (at <= endedAt ? free.length : []))
  return Math.min(...counts) - (start === 'assigned' ? 1 : 0)
}

/** Whether the used, or the unused, file of a profile holds it in any directory. */
const isWhole = (disk: Disk, who: string, which: 'used' | 'unused'): boolean =>
  LOTS.some((lot) => {
    try {
      const name = profilesIn(disk.namesOf(lot)).get(who)?.[which]
      const { iccid, profile } = JSON.parse(textOf(disk, `${lot}/${name}`))
      return name?.includes(iccid) && typeof profile === 'string'
    } catch {
      return false
    }
  })

/** Those that are in the directory from the beginning, and those that were stored, or put aside by a call that ended amid it. */
function lotOf(world: World, { profiles, start, calls }: Schedule): string[] {
  const lot = Array.from({ length: profiles }, (_, n) => iccid(n + 1))
  // What a call puts aside of a torn answer is another one than its own.
  const isKept = ({ result, log }: Call) =>
    result === undefined ? start !== 'torn' && isPutAside(log) : result.code === 0
  const isStored = world.calls.some((call, at) => calls[at]?.startsWith('store') && isKept(call))
  return start === 'answer' || isStored ? [...lot, iccid(profiles + 1)] : lot
}

/** Its own answer is flushed, not a copy of another call's, and then its name; no profile has a name before. */
function isPutAside(log: readonly Entry[]): boolean {
  const done = log.flatMap(({ name, path, error }) => (error === undefined ? [`${name} ${path}`] : []))
  const opens = done.map((each) => /^open (?:wx|r\+) (.*\.answer\/answer)$/.exec(each)?.[1])
  // Where the space for it was, or anew, if that was gone.
  const opened = opens.findIndex((path, at) => path !== undefined && opens.indexOf(path) < at)
  const answer = opened < 0 ? -1 : done.indexOf(`flush ${opens[opened]}`, opened)
  const isNamed = answer >= 0 && done.slice(answer).some((each) => /^flush .*\/\.incoming$/.test(each))
  return isNamed || done.some((each) => /^(open wx .*\/\d+\.json|rename to \S*\/\d+\.json .*)$/.test(each))
}

/**
 * In the end, all profiles are used. One that stays unused beside a torn used file is named.
 */
function* lost({ world, later, schedule, told }: Whole): Generator<Violation> {
  const { disk } = later.world
  for (const each of lotOf(world, schedule)) {
    if (isWhole(disk, each, 'used') || isAway(schedule, each)) continue
    const names = LOTS.flatMap((lot) => disk.namesOf(lot)).filter((name) => name.includes(each))
    const isNamed = later.left.unfinished > 0 || isTold(told, each)
    const isKnown = isTornByCut(world, schedule) || (isWhole(disk, each, 'unused') && isNamed)
    if (isKnown && names.some((name) => parseName(name)?.isUsed)) continue
    yield { rule: 'lost', what: `${each} is not used in the end; there is ${names.join(', ') || 'nothing'}` }
  }
}

/** The receipts say that it was moved to a disk that nobody has. */
const isAway = ({ start, calls }: Schedule, who: string) =>
  start === 'backup' && calls.includes('restore') && who === iccid(2)

/**
 * After `restore`, nobody gets what the receipts name as moved, and the device gets what they name as its own. If another
 * call was faster, that is for a person to find out.
 */
function* notRestored(
  { world: { prints } }: After,
  { start, calls, segments }: Schedule,
): Generator<Violation> {
  if (start !== 'backup' || !calls.includes('restore')) return
  if (calls.some((name) => name !== 'restore' && name !== 'deviceD')) return
  if (segments.some(({ call, event = '' }) => /^[=~]/.test(event) && calls[call] === 'deviceD')) return
  for (const print of prints)
    if (print.iccid === iccid(2) || (print.device === 'D') !== (print.iccid === iccid(1)))
      yield { rule: 'not restored', what: shown(print) }
}

/** What stays out of reach is named, with what to do. */
function* stuck({ world, later, schedule, told }: Whole): Generator<Violation> {
  if (isTornByCut(world, schedule)) return
  for (const what of later.stuck) {
    const [who = ''] = what.split(':')
    if (isAway(schedule, who)) continue
    if (!told.some((each) => each.told.some((text) => text.includes(`${who} is set aside`))))
      yield { rule: 'stuck', what }
  }
}

/** On FAT, a power cut may tear a file between its rename and its flush. A tool that only renames does not care. */
const isTornByCut = ({ kind }: World, { segments, calls }: Schedule) =>
  kind.hasFatRules &&
  segments.some(
    ({ event = '' }) =>
      /^\^.*[1-9]/.test(event) || (event[0] === '^' && calls.some((name) => name.startsWith('rename'))),
  )

/** Alone, `next` finds all that there is: the next call finds no more. */
function* freed({ world: { calls }, schedule }: Case): Generator<Violation> {
  const { calls: names, segments } = schedule
  for (const [at, { beganAt = 0, endedAt, result }] of calls.entries()) {
    const after = calls[at + 1]
    if (names[at] !== 'next' || names[at + 1] !== 'next' || result?.code !== 3) continue
    const others = calls.toSpliced(at, 2)
    const isAlone = others.every((other) => other.state === 'dead' || other.endedAt <= beganAt)
    const isAtOnce = after?.beganAt === endedAt && !segments.some(({ call, napMs }) => call === at && napMs)
    if (isAlone && isAtOnce && after.result?.code === 0)
      yield { rule: 'freed', what: `${result.error}, and then there is one` }
  }
}

/** What is printed has a receipt, and what has a receipt is used. */
function* receipts({ disk, calls, prints }: World): Generator<Violation> {
  for (const { id } of calls) {
    const text = textOf(disk, `${RECEIPTS}/${id}`)
    const printed = prints.filter((print) => print.call === id && !print.device?.startsWith('the tool'))
    for (const print of printed)
      if (!text.includes(print.iccid)) yield { rule: 'receipt', what: shown(print) }
    for (const [, iccid = ''] of text.matchAll(/"iccid":"(\d+)".*\n/g))
      if (!isUsed(disk, iccid)) yield { rule: 'receipt', what: `${iccid} has one of ${id}, and is not used` }
  }
}

const isUsed = (disk: Disk, iccid: string) =>
  LOTS.some(
    (lot) =>
      profilesIn(disk.namesOf(lot)).get(iccid)?.used !== undefined ||
      disk.namesOf(`${lot}/.claims`).some((name) => name.startsWith(iccid)),
  )

/** What is left of an answer stays, for a person to read. */
function* torn(disk: Disk, { start }: Schedule): Generator<Violation> {
  if (start !== 'torn') return
  const place = `${LOT}/.incoming`
  const paths = disk.namesOf(place).flatMap((name) => [`${place}/${name}`, `${place}/${name}/answer`])
  if (!paths.some((path) => textOf(disk, path) === TORN)) yield { rule: 'lost', what: 'the torn answer' }
}

const isTold = (results: readonly Result[], iccid: string) =>
  results.some(({ told, error, hint }) => [...told, error, hint].some((text) => text.includes(iccid)))

function* twins({ later, told }: Whole): Generator<Violation> {
  const { disk } = later.world
  for (const [lot, name] of LOTS.flatMap((lot) => disk.namesOf(lot).map((name) => [lot, name] as const))) {
    const hasTwin = /^\d/.test(name) && disk.at(`${lot}/__${name}`)?.content.length
    if (hasTwin && later.left.unfinished === 0 && !isTold(told, parseName(name)?.iccid ?? name))
      yield { rule: 'twin', what: `${name} stays beside its used file, and nobody says so` }
  }
}

/**
 * What a call says that it has claimed and not delivered, nobody else has got: its hint prints it again. Another call for
 * the same device may have printed it, and whoever names an ICCID knows.
 */
function* misnamed({ world: { calls, prints }, schedule }: Case): Generator<Violation> {
  const others = prints.filter(({ isAgain, device }) => !isAgain && device === undefined)
  for (const [at, { id, result }] of calls.entries())
    for (const text of [...(result?.told ?? []), result?.error ?? ''])
      for (const [, iccid] of text.matchAll(/claimed but not delivered: (\d+) \(/g))
        if (
          !schedule.calls[at]?.startsWith('iccid') &&
          others.some((each) => each.iccid === iccid && each.call !== id)
        )
          yield { rule: 'misnamed', what: `${text}, and another call has printed it` }
}

/** Nobody was killed: what is used and was not printed is named by a call. */
function* unnamed({ world, schedule, faults }: Case): Generator<Violation> {
  const { hasCut, hasKill, refused } = faults
  if (hasCut || hasKill) return
  // What another tool marks used and does not print is its own affair.
  if ([...refused].some((at) => schedule.calls[at]?.startsWith('rename'))) return
  const printed = new Set(world.prints.map((print) => print.iccid))
  const told = world.calls.flatMap(({ result }) => result ?? [])
  for (const each of lotOf(world, schedule)) {
    if (printed.has(each) || !isWhole(world.disk, each, 'used')) continue
    if (schedule.start === 'claimed' && each === iccid(1)) continue
    if (schedule.start === 'backup' && schedule.calls.includes('restore')) continue
    if (!isTold(told, each))
      yield { rule: 'unnamed', what: `${each} is used, was not printed, and no call names it` }
  }
}
