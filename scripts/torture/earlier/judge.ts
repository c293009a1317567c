/** What a version of the program makes of a state that an earlier one has left, and what must be true of that. */
import { iccid } from '../../../test/support/profiles.ts'
import type { Call, Print, Result } from '../schedule/call.ts'
import type { World } from '../schedule/engine.ts'
import { LOT, LOTS, STICK } from '../schedule/places.ts'
import type { Program } from '../schedule/program.ts'
import type { State } from './state.ts'

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
export const ORDERS = [
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
export async function ask(
  program: Program,
  world: World,
  move: State['move'],
  order: string,
): Promise<Asked[]> {
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

const shown = ({ iccid, device, isAgain, call }: Print) =>
  `${iccid} by ${call}${device === undefined ? '' : ` for ${device}`}${isAgain ? ' again' : ''}`

/** @returns what is wrong */
export function* wrongIn(state: State, all: readonly Asked[]): Generator<string> {
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
    ...{ call: 'the killed call', iccid, device, isAgain: false, owners: [], at: 0 },
  }))
  const prints: Print[] = [...before, ...all.flatMap((each) => each.prints)]
  for (const [iccid, own] of Map.groupBy(prints, (print) => print.iccid)) {
    const firsts = own.filter(({ isAgain }) => !isAgain)
    const whose = new Set(firsts.map(({ device, call }) => (device === undefined ? `call ${call}` : device)))
    const devices = new Set(own.flatMap(({ device }) => device ?? []))
    if (whose.size > 1 || devices.size > 1) yield `${iccid} has several owners: ${own.map(shown).join(', ')}`
  }
  const named = prints.filter(({ device }) => device !== undefined)
  for (const [device, own] of Map.groupBy(named, (print) => print.device))
    if (new Set(own.map((print) => print.iccid)).size > 1)
      yield `${device} has several profiles: ${own.map(shown).join(', ')}`
}
