/**
 * Looks at what this version makes of what killed calls of version 1.1 have left, as it is in `test/fixtures/`:
 * `node scripts/torture/earlier.ts <fixture>`. It prints one line of JSON for each state with which something is wrong,
 * and at last how many it has tried. `--only` chooses states by their schedules and prints all calls. `git log --
 * scripts/torture/earlier/collect.ts` leads to what collected the states.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { iccid } from '../../test/support/profiles.ts'
import { After, type Asked } from './schedule/aftermath.ts'
import { KINDS } from './schedule/disk.ts'
import type { Print, World } from './schedule/engine.ts'
import { install } from './schedule/hooks.ts'
import { hasSeveralOwners, severalFor, shown } from './schedule/judge.ts'
import { LOT, STICK } from './schedule/names.ts'
import { programFor, source } from './schedule/run.ts'
import { emptyWorld } from './schedule/scenarios.ts'

interface State {
  /** Schedules after which the directories are like this. */
  readonly after: string
  /** The kinds of disks. */
  readonly kinds: readonly string[]
  /** How the move that was interrupted is repeated, and `back`. */
  readonly move: number | 'all' | undefined
  /** What may have been printed before: the ICCID, then the device if there is one. */
  readonly printed: readonly (readonly string[])[]
  /**
   * The paths, in the directories `source` and `target`: each with the number of its text, or with another path of the
   * same file, or null if it is a directory and ends in a slash.
   */
  readonly names: Readonly<Record<string, string | number | null>>
}

const ICCIDS = [1, 2, 3].map((n) => iccid(n))
const DEVICES = ['D', 'E']
const hashOf = (device: string) => createHash('sha256').update(device).digest('hex')

/** The fixture says `#1` for an ICCID, `#D` for the hash of a device, and the numbers of random bytes and names. */
const expanded = (fixture: string) =>
  fixture
    .replaceAll('"source/', `"${LOT}/`)
    .replaceAll('"target/', `"${STICK}/`)
    // The scheduler's random bytes, in a file that reserves space.
    .replaceAll(/#x(\d+)#/g, (_, length) => '\\u0001'.repeat(length))
    .replaceAll(/#m(\d+)/g, (_, number) => `00000000-0000-4000-8000-${number.padStart(12, '0')}`)
    .replaceAll(/#(\d)/g, (_, n) => iccid(Number(n)))
    .replaceAll(/#([A-Z])/g, (_, device) => hashOf(device))

const { values, positionals } = parseArgs({ allowPositionals: true, options: { only: { type: 'string' } } })
const { texts, states }: { texts: readonly string[]; states: readonly State[] } = JSON.parse(
  expanded(readFileSync(positionals[0] ?? '', 'utf8')),
)

/** Undefined of a directory. */
function textOf({ names }: State, path: string): string | undefined {
  const what = names[path]
  return texts[(typeof what === 'string' ? (names[what] as number) : what) ?? -1]
}

const HOUR_MS = 3_600_000

/** A disk with such directories; all of its files are an hour old. */
function worldOf(state: State, kindName: string): World {
  const kind = KINDS.get(kindName)
  if (kind === undefined) throw new Error(`there is no kind ${kindName}`)
  const world = emptyWorld(kind)
  const { disk } = world
  disk.actor = { call: '', points: 0, now: world.now - HOUR_MS }
  for (const [path, what] of Object.entries(state.names)) {
    if (what === null) disk.makeDirectory(path.slice(0, -1), 0o700)
    else if (typeof what === 'string') disk.link(what, path)
    else disk.put(path, Buffer.from(textOf(state, path) ?? '', 'latin1'))
  }
  disk.flushAll()
  return world
}

/** In which order everybody asks again. What a call of `next` settles may be in transit then. */
const ORDERS = [
  'status device day move next move next iccid status',
  'status iccid day move next move next device iccid status',
  'status day move next move next device iccid status',
  'status back device day move next move next iccid status',
]

install(source)
Error.stackTraceLimit = 3
const program = await programFor('linux')

/** Everybody asks again. */
async function ask(before: World, move: State['move'], order: string): Promise<readonly Asked[]> {
  const after = new After(before, program)
  const count = move === 'all' ? Number.POSITIVE_INFINITY : move
  const moves = count === undefined ? [] : [{ count, source: LOT, target: STICK }]
  await after.ask(order, { devices: DEVICES, iccids: ICCIDS, moves })
  return after.all
}

/** Of the JSON in a file; nothing of a file that is torn. */
function fieldsOf(text = ''): { iccid?: string; device?: string; move?: string; moved?: { iccid: string } } {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

/** Who has what, as the files say that the earlier version left. */
function ownersOf(state: State) {
  /**
   * The device that a used file names, by ICCID, unless it has another profile: of two calls for one device, the second
   * one was killed before it released its own. Nor has it one that another call took over, unless that is decided for it.
   * A record alone says less: version 1.0 recorded a profile before it claimed it, and any call may have claimed it since.
   */
  const devices = new Map<string, string>()
  /** Used files that are no tombstones, complete or not. */
  const used = new Set<string>()
  /** What a move has claimed that is decided for the other directory. */
  const given = new Set<string>()
  for (const name of ICCIDS) {
    const path = `${LOT}/__${name}.json`
    if (!(path in state.names)) continue
    const { iccid: its, device = '', move, moved } = fieldsOf(textOf(state, path))
    const record = fieldsOf(textOf(state, `${LOT}/.devices/${hashOf(device)}.1`))
    const settled = `${LOT}/.${name}.settled/`
    const isItsOwn = !(settled in state.names) || `${settled}whose` in state.names
    if (its !== undefined && device !== '' && isItsOwn && (record.iccid ?? its) === its)
      devices.set(its, device)
    if (moved === undefined) used.add(name)
    // A file stands for the target, a directory for the source.
    else if (`${LOT}/.moves/${move}.whose` in state.names) given.add(moved.iccid)
  }
  return { devices, used, given }
}

/** @returns what is wrong */
function* wrongIn(state: State, all: readonly Asked[]): Generator<string> {
  // One owner for a profile, one profile for a device; what was printed before counts.
  const before = state.printed.map(([iccid = '', device]) => ({
    ...{ call: 'the killed call', iccid, device, isAgain: false, owners: [] },
  }))
  const every: Print[] = [...before, ...all.flatMap(({ prints }) => prints)]
  for (const own of Map.groupBy(every, (print) => print.iccid).values())
    if (hasSeveralOwners(own)) yield `several owners: ${own.map(shown).join(', ')}`
  for (const { what } of severalFor(every)) yield `several profiles for ${what}`
  const { devices, used, given } = ownersOf(state)
  for (const { what, directory, result, prints } of all) {
    if (result.code === 1) yield `internal error of ${what}: ${result.error}`
    for (const print of prints) {
      const its = devices.get(print.iccid)
      if (its !== undefined && its !== print.device) yield `${shown(print)}, which is that of ${its}`
      if (what === 'next' && used.has(print.iccid)) yield `${shown(print)}, which counts as used`
      if (directory === LOT && given.has(print.iccid)) yield `${shown(print)}, which ${STICK} may have`
    }
  }
  // Each that is there is printed, or named by a call that was not asked for it.
  for (const each of ICCIDS) {
    if (!Object.keys(state.names).some((path) => textOf(state, path)?.includes(`"${each}"`))) continue
    const isNamed = all.some(
      ({ whose, result: { error, hint, told, printed } }) =>
        whose !== each && [error, hint, printed, ...told].some((text) => text.includes(each)),
    )
    if (!isNamed && every.every((print) => print.iccid !== each)) yield `${each} is neither printed nor named`
  }
}

let count = 0
for (const state of states) {
  if (!state.after.includes(values.only ?? '')) continue
  for (const [at, kind] of state.kinds.entries()) {
    for (const order of at === 0 ? ORDERS : ORDERS.slice(0, 1)) {
      if (order.includes('back') && state.move === undefined) continue
      const all = await ask(worldOf(state, kind), state.move, order)
      count++
      const wrong = [...wrongIn(state, all)]
      if (values.only !== undefined) console.log(JSON.stringify({ ...state, order, all }, undefined, 1))
      if (wrong.length > 0) console.log(JSON.stringify({ after: state.after, kind, order, wrong }))
    }
  }
}
console.log(JSON.stringify({ count }))
