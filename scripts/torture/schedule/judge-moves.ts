/** What must be true of moves after a schedule. */

import type { After } from './aftermath.ts'
import type { Disk } from './disk.ts'
import type { Call, World } from './engine.ts'
import { LOT, LOTS, parseName, profilesIn, STICK, THIRD } from './names.ts'
import type { Case, Violation } from './run.ts'
import { begunMoves, type Move, WANTS } from './scenarios.ts'
import { hasFault, isPausedForLong, type Schedule } from './text.ts'

/** Whoever ran the command again has finished the move. */
export function* transit({ left: { inTransit }, results }: After): Generator<Violation> {
  if (inTransit === 0) return
  const said = results.flatMap(({ error, told }) => [error, ...told]).filter((text) => text.includes('mov'))
  yield { rule: 'transit', what: `${inTransit} in transit in the end: ${said.join('; ')}` }
}

/** Whichever call of several with the same command is the last one, the first one had not said that it was done. */
function isRepeated(world: World, { calls }: Schedule, call: Call): boolean {
  const { state, told, pausedAt, result } = call
  const name = calls[world.calls.indexOf(call)] ?? ''
  if (state !== 'dead' && !isMove(name)) return false
  const hasEnded = state === 'dead' && told.some((text) => text.includes(' moved to '))
  if (hasEnded || (state !== 'dead' && result?.code === 0)) return false
  return world.calls.some(
    ({ beganAt = -1 }, at) => world.calls[at] !== call && calls[at] === name && beganAt >= pausedAt,
  )
}

/** Whether the move of the start is finished. */
const isOver = ({ start }: Schedule) => start === 'moved' || start === 'restored'

/** The profiles in the directories that moves go to. */
const movedIn = (namesOf: (lot: string) => readonly string[]) =>
  new Set([STICK, THIRD].flatMap((lot) => [...profilesIn(namesOf(lot)).keys()]))

/** A command that is run again moves no others, unless the first one had said that it was done. */
export function* tooMany({ world, schedule }: Case, later: After): Generator<Violation> {
  const movesAway = (name: string | undefined) =>
    (WANTS[name ?? '']?.moves ?? []).filter(({ source }) => source === LOT)
  const sumOf = (moves: readonly Move[]) => sum(moves.map(({ count }) => count))
  const commands = world.calls.flatMap((call, at) =>
    isRepeated(world, schedule, call) ? [] : movesAway(schedule.calls[at]),
  )
  const same = ({ target, count }: Move) =>
    commands.every((each) => each.target !== target || each.count !== count)
  const most = sumOf(commands) + sumOf(isOver(schedule) ? [] : begunMoves(schedule.start).filter(same))
  const before = movedIn((lot) => world.before.get(lot) ?? [])
  const moved = movedIn((lot) => later.world.disk.namesOf(lot)).difference(before).size
  if (moved > most) yield { rule: 'too many', what: `${moved} moved, not ${most}` }
  // All or none, each time.
  const [only] = schedule.calls
  const count = sumOf(movesAway(only))
  if (schedule.calls.every((name) => name === only) && begunMoves(schedule.start).length === 0)
    if (count < Number.POSITIVE_INFINITY && moved % count > 0)
      yield { rule: 'too many', what: `${moved} moved, with ${count} at a time` }
}

/** A profile is unused in one directory at most, and has one file there, whatever has happened. */
export function* unusedTwice(disk: Disk): Generator<Violation> {
  const unused = LOTS.flatMap((lot) => {
    const names = disk.namesOf(lot)
    const used = profilesIn(names.filter((name) => parseName(name)?.isUsed))
    return names.flatMap((name) => {
      const { iccid, number, isUsed } = parseName(name) ?? { iccid: '', number: 0, isUsed: true }
      return isUsed || number <= (used.get(iccid)?.number ?? 0) ? [] : { iccid, path: `${lot}/${name}` }
    })
  })
  for (const [iccid, all] of Map.groupBy(unused, (each) => each.iccid))
    if (all.length > 1)
      yield { rule: 'unused twice', what: `${iccid}: ${all.map(({ path }) => path).join(', ')}` }
}

const isMove = (name: string) => /^(move\w*|relay|handover)$/.test(name)

const sum = (all: readonly number[]) => all.reduce((total, each) => total + each, 0)

/** Nothing fails, nobody takes anything back, and there are enough profiles: one move at least succeeds. */
export function* moveCodes({ world, schedule, faults }: Case): Generator<Violation> {
  const { calls, start, profiles } = schedule
  if (hasFault(faults) || !/^(fresh|hint)$/.test(start) || isPausedForLong(schedule)) return
  if (calls.some((name) => /back|home|round|iccid/.test(name))) return
  const wants = calls.map((name) => WANTS[name] ?? {})
  const moved = wants.flatMap(({ moves = [] }) =>
    moves.filter(({ source }) => source === LOT).map(({ count }) => count),
  )
  const others = sum(wants.map(({ count = 0, isOnStick }) => (isOnStick ? 0 : count)))
  // Of two that want two, each may have claimed one.
  if (others + (moved.every((count) => count === 1) ? 1 : sum(moved)) > profiles) return
  const results = calls.flatMap((name, at) => (isMove(name) ? (world.calls[at]?.result ?? []) : []))
  if (results.length > 0 && results.every(({ code }) => code !== 0))
    yield { rule: 'codes', what: `all moves failed: ${results.map(({ error }) => error).join('; ')}` }
}

/** What a move says that it has moved has come to the other directory meanwhile. */
export function* said({ world, schedule: { calls }, faults }: Case): Generator<Violation> {
  if (faults.hasCut) return
  // Another call has found the journal of the one that failed, and moved no more.
  const isFinished = world.calls.some(({ told }) => told.some((text) => text.includes('it is finished')))
  for (const [at, { told, result }] of world.calls.entries()) {
    // Of several moves in one call, each message has a target of its own.
    const [move] = /^move\w*$/.test(calls[at] ?? '') ? (WANTS[calls[at] ?? '']?.moves ?? []) : []
    if (move === undefined) continue
    const before = profilesIn(world.before.get(move.target) ?? [])
    const now = [...profilesIn(world.disk.namesOf(move.target)).values()]
    const claims = world.disk.namesOf(`${move.target}/.claims`).filter((key) => /^\d+(\.\d+)?$/.test(key))
    const come =
      claims.length + now.filter(({ iccid, number }) => number > (before.get(iccid)?.number ?? 0)).length
    for (const text of told) {
      const said = Number(/^(\d+) profiles? moved to /.exec(text)?.[1] ?? 0)
      // Whoever is told that it failed runs the same command again: that moves more, unless the journal is there.
      if (said > 0 && (result?.code ?? 0) !== 0 && !isFinished && !isAnyOpen(world.disk))
        yield { rule: 'said', what: `${text}, but exit code ${result?.code}` }
      if (said > come) yield { rule: 'said', what: `${text}, but ${come} have come` }
    }
  }
}

const isAnyOpen = (disk: Disk) =>
  LOTS.some((lot) => disk.namesOf(`${lot}/.moves`).some((name) => /^[0-9a-f-]{36}$/.test(name)))

/** A move that says that it has moved nothing has left nothing behind. */
export function* nothingMoved({ world, schedule }: Case, later: After): Generator<Violation> {
  const { calls, start } = schedule
  const results = world.calls.flatMap(({ result }, at) => (isMove(calls[at] ?? '') ? (result ?? []) : []))
  if (calls.filter(isMove).length > 1 || !results[0]?.error.includes('nothing was moved')) return
  if (begunMoves(start).length > 0 || calls.some((name) => WANTS[name]?.moves && !isMove(name))) return
  const moved = movedIn((lot) => later.world.disk.namesOf(lot)).size
  const { inTransitAtFirst: inTransit = 0 } = later
  if (inTransit + moved > 0 && start !== 'damaged')
    yield { rule: 'said', what: `nothing was moved, but ${inTransit} in transit, ${moved} moved` }
}
