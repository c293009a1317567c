/** Runs one schedule. */
import type { Body, Call, World } from './engine.ts'
import { KINDS, type Kind } from './kinds.ts'
import { LOT, MOUNT } from './names.ts'
import { loadProgram, type Program } from './program.ts'
import { begin, bodyOf } from './scenarios.ts'
import type { Schedule, Segment } from './text.ts'

const programs = new Map<string, Promise<Program>>()

/** Where the source of the program is: the URL of a directory, with a slash at its end. */
export let source = new URL('../../../src/', import.meta.url).href

export function setSource(url: string): void {
  source = url
}

/** The program as it is on a kind of disk. */
export function programFor(kind: Kind): Promise<Program> {
  const known = programs.get(kind.name) ?? loadProgram(source, kind)
  programs.set(kind.name, known)
  return known
}

interface Watch {
  trace?: World['trace']
  segment?: (segment: Segment | undefined, call: Call) => void
}

/** @returns what all of it has come to; the calls of the schedule come first in its list */
export async function run(schedule: Schedule, watch: Watch = {}): Promise<World> {
  const kind = KINDS.get(schedule.kind)
  if (kind === undefined) throw new Error(`there is no kind ${schedule.kind}`)
  const program = await programFor(kind)
  const world = await begin(program, kind, schedule.start, schedule.profiles)
  world.trace = watch.trace
  for (const name of schedule.calls) world.add(bodyOf(program, name, schedule.profiles) as Body)
  for (const segment of schedule.segments) {
    const call = world.calls[segment.call]
    if (call === undefined) throw new Error(`there is no call ${segment.call}`)
    watch.segment?.(segment, call)
    const { points, event = '' } = segment
    await world.advance(call, points === '?' ? undefined : points, event)
    happen(world, call, event)
    world.now += segment.napMs ?? 0
  }
  for (const call of world.calls.filter(({ state }) => state === 'alive')) {
    watch.segment?.(undefined, call)
    await world.advance(call)
  }
  // A lost stick never comes back.
  if (!schedule.calls.includes('lost')) world.disk.plug(MOUNT)
  return world
}

/** What happens at the end of a segment. */
function happen(world: World, call: Call, event: string): void {
  const { disk } = world
  if (event === '!' && call.state === 'alive') call.state = 'dead'
  if (event.startsWith('$')) signal(call, event.length)
  if (event === '&') world.backup ??= disk.backup(LOT)
  if (event.startsWith('%')) {
    if (disk.isPulled(MOUNT)) disk.plug(MOUNT)
    else disk.pull(MOUNT, event === '%%')
  }
  if (event.startsWith('^')) {
    const shares = event.slice(1).split('/').map(Number)
    let turn = 0
    world.cutPower((length) => Math.round((shares[turn++ % shares.length] ?? 0) * length))
  }
}

/** The first one asks for an end; another one is the end, unless the call holds it back. */
function signal(call: Call, signals: number): void {
  if (call.state !== 'alive') return
  const isSecond = signals > 1 || call.stopsAt < Number.POSITIVE_INFINITY
  call.stopsAt = Math.min(call.stopsAt, call.log.length)
  if (isSecond && !call.isHeld) call.state = 'dead'
}
