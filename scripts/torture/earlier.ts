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
import { KINDS } from './schedule/disk.ts'
import type { Call, Print, Result, World } from './schedule/engine.ts'
import { install } from './schedule/hooks.ts'
import { hasSeveralOwners, severalFor, shown } from './schedule/judge.ts'
import { LOT, LOTS, STICK } from './schedule/names.ts'
import type { Program } from './schedule/program.ts'
import { programFor, source } from './schedule/run.ts'
import { emptyWorld } from './schedule/scenarios.ts'

interface Stored {
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

interface State extends Stored {
  /** By their paths; directories have none. */
  readonly texts: ReadonlyMap<string, string | undefined>
}

function statesOf(fixture: string): State[] {
  const { texts, states }: { texts: readonly string[]; states: readonly Stored[] } = JSON.parse(fixture)
  return states.map((state) => {
    const textOf = (what: string | number | null | undefined): string | undefined =>
      typeof what === 'string' ? textOf(state.names[what]) : texts[what ?? -1]
    return {
      ...state,
      texts: new Map(Object.entries(state.names).map(([path, what]) => [path, textOf(what)])),
    }
  })
}

const SIDES: Record<string, string> = { source: LOT, target: STICK }

/** What names have instead of an ICCID and of the hash of a device, which are long. */
const SHORT = new Map<string, string>([
  ...[1, 2, 3].map((n) => [`#${n}`, iccid(n)] as const),
  ...['D', 'E'].map((device) => [`#${device}`, createHash('sha256').update(device).digest('hex')] as const),
])

const expanded = (text: string) =>
  text
    // The scheduler's random bytes, in a file that reserves space.
    .replaceAll(/#x(\d+)#/g, (_, length) => '\u0001'.repeat(length))
    .replaceAll(/#m(\d+)/g, (_, number) => `00000000-0000-4000-8000-${number.padStart(12, '0')}`)
    .replaceAll(/#[\dA-Z]/g, (short) => SHORT.get(short) ?? short)

function pathOf(path: string): string {
  const [side = '', ...rest] = path.split('/')
  return expanded(`${SIDES[side]}/${rest.join('/')}`)
}

const HOUR_MS = 3_600_000

/** A disk with such directories; all of its files are an hour old. */
function worldOf({ names, texts }: State, kindName: string): World {
  const kind = KINDS.get(kindName)
  if (kind === undefined) throw new Error(`there is no kind ${kindName}`)
  const world = emptyWorld(kind)
  const { disk } = world
  disk.actor = { call: '', points: 0, now: world.now - HOUR_MS }
  for (const [path, what] of Object.entries(names)) {
    const at = pathOf(path)
    if (what === null) disk.makeDirectory(at.slice(0, -1), 0o700)
    else if (typeof what === 'string') disk.link(pathOf(what), at)
    else disk.put(at, Buffer.from(expanded(texts.get(path) ?? ''), 'latin1'))
  }
  disk.flushAll()
  return world
}

/** A call, and what has come of it. */
interface Asked {
  readonly what: string
  readonly directory: string
  /** The device or the ICCID. */
  readonly whose: string | undefined
  readonly result: Result
  readonly prints: readonly Print[]
}

/** In which order everybody asks again. What a call of `next` settles may be in transit then. */
const ORDERS = [
  'status device day move next move next iccid status',
  'status iccid day move next move next device iccid status',
  'status day move next move next device iccid status',
  'status back device day move next move next iccid status',
]

const PAUSE_MS = 2 * 60_000
const DAY_MS = 25 * 3_600_000
const MOST_CALLS = 8
const ICCIDS = [1, 2, 3].map((n) => iccid(n))
const DEVICES = ['D', 'E']

/** Everybody asks again. */
async function ask(program: Program, world: World, move: State['move'], order: string): Promise<Asked[]> {
  const all: Asked[] = []
  world.now += PAUSE_MS
  const run = async (
    what: string,
    body: (call: Call) => Promise<Result>,
    directory = LOT,
    whose?: string,
  ) => {
    const call = world.add(body, 1)
    const before = world.prints.length
    await world.advance(call)
    const result = call.result as Result
    all.push({ what, directory, whose, result, prints: world.prints.slice(before) })
    return result.code
  }
  for (const what of order.split(' ')) {
    if (what === 'day') world.now += DAY_MS
    if (what === 'back') await run(what, program.move({ isBack: true }))
    if (what === 'move' && move !== undefined)
      await run(what, program.move({ count: move === 'all' ? Number.POSITIVE_INFINITY : move }))
    if (what === 'device')
      for (const whose of DEVICES) await run(what, program.next({ devices: [whose] }), LOT, whose)
    for (const directory of LOTS) {
      if (what === 'status') await run(what, program.status(directory), directory)
      if (what === 'iccid')
        for (const whose of ICCIDS)
          await run(what, program.next({ iccid: whose, directory }), directory, whose)
      // Hands out all that is left.
      let tries = what === 'next' ? MOST_CALLS : 0
      while (tries-- > 0) if ((await run(what, program.next({ directory }), directory)) !== 0) break
    }
  }
  return all
}

/** Who has what, as the files say that the earlier version left. */
interface Owners {
  /**
   * The device that a used file names, by ICCID, unless it has another profile: of two calls for one device, the second
   * one was killed before it released its own. Nor has it one that another call took over, unless that is decided for it.
   * A record alone says less: version 1.0 recorded a profile before it claimed it, and any call may have claimed it since.
   */
  readonly devices: ReadonlyMap<string, string>
  /** Used files that are no tombstones, complete or not. */
  readonly used: ReadonlySet<string>
  /** What a move has claimed that is decided for the other directory. */
  readonly given: ReadonlySet<string>
  /** All that is there. */
  readonly known: ReadonlySet<string>
}

interface Fields {
  readonly iccid?: string
  readonly device?: string
  readonly move?: string
  readonly moved?: { readonly iccid: string }
}

function fieldsOf(text = ''): Fields {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

function ownersOf({ texts }: State): Owners {
  const devices = new Map<string, string>()
  const [used, given] = [new Set<string>(), new Set<string>()]
  for (const path of texts.keys()) {
    const name = /^source\/__#(\d)\.json$/.exec(path)?.[1]
    if (name === undefined) continue
    const { iccid: its, device, move, moved } = fieldsOf(texts.get(path))
    const record = fieldsOf(texts.get(`source/.devices/#${device}.1`))
    const settled = `source/.#${name}.settled/`
    const isItsOwn = !texts.has(settled) || texts.has(`${settled}whose`)
    if (its !== undefined && device !== undefined && isItsOwn && (record.iccid ?? its) === its)
      devices.set(its, device)
    if (moved === undefined) used.add(iccid(Number(name)))
    // A file stands for the target, a directory for the source.
    else if (texts.has(`source/.moves/${move}.whose`)) given.add(moved.iccid)
  }
  const whole = [...texts.values()].join('\n')
  return { devices, used, given, known: new Set(ICCIDS.filter((each) => whole.includes(`"${each}"`))) }
}

/** @returns what is wrong */
function* wrongIn(state: State, all: readonly Asked[]): Generator<string> {
  for (const { what, result } of all)
    if (result.code === 1) yield `internal error of ${what}: ${result.error}`
  yield* severalOwners(state, all)
  const { devices, used, given, known } = ownersOf(state)
  for (const { what, directory, prints } of all) {
    for (const print of prints) {
      const its = devices.get(print.iccid)
      if (its !== undefined && its !== print.device) yield `${shown(print)}, which is that of ${its}`
      if (what === 'next' && used.has(print.iccid)) yield `${shown(print)}, which counts as used`
      if (directory === LOT && given.has(print.iccid)) yield `${shown(print)}, which ${STICK} may have`
    }
  }
  // Each is printed, or named by a call that was not asked for it.
  const printed = [
    ...state.printed.map(([each]) => each),
    ...all.flatMap(({ prints }) => prints.map((p) => p.iccid)),
  ]
  for (const each of known) {
    const isNamed = all.some(
      ({ whose, result: { error, hint, told, printed } }) =>
        whose !== each && [error, hint, printed, ...told].some((text) => text.includes(each)),
    )
    if (!printed.includes(each) && !isNamed) yield `${each} is neither printed nor named`
  }
}

/** One owner for a profile, one profile for a device; what was printed before counts. */
function* severalOwners({ printed }: State, all: readonly Asked[]): Generator<string> {
  const before = printed.map(([iccid = '', device]) => ({
    ...{ call: 'the killed call', iccid, device, isAgain: false, owners: [] },
  }))
  const prints: Print[] = [...before, ...all.flatMap((each) => each.prints)]
  for (const own of Map.groupBy(prints, (print) => print.iccid).values())
    if (hasSeveralOwners(own)) yield `several owners: ${own.map(shown).join(', ')}`
  for (const { what } of severalFor(prints)) yield `several profiles for ${what}`
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string' },
  },
})
install(source)
Error.stackTraceLimit = 3
const program = await programFor('linux')
let count = 0
for (const state of statesOf(readFileSync(positionals[0] ?? '', 'utf8'))) {
  if (!state.after.includes(values.only ?? '')) continue
  for (const [at, kind] of state.kinds.entries()) {
    for (const order of at === 0 ? ORDERS : ORDERS.slice(0, 1)) {
      if (order.includes('back') && state.move === undefined) continue
      const all = await ask(program, worldOf(state, kind), state.move, order)
      count++
      const wrong = [...wrongIn(state, all)]
      if (values.only !== undefined) console.log(JSON.stringify({ ...state, order, all }, undefined, 1))
      if (wrong.length > 0) console.log(JSON.stringify({ after: state.after, kind, order, wrong }))
    }
  }
}
console.log(JSON.stringify({ count }))
