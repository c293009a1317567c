/** What a version of the program makes of a state that an earlier one has left, and what must be true of that. */
import { iccid } from '../../../test/support/profiles.ts'
import type { Call, Print, Result } from '../schedule/call.ts'
import type { World } from '../schedule/engine.ts'
import { LOT, LOTS, STICK } from '../schedule/places.ts'
import type { Program } from '../schedule/program.ts'
import { type State, textIn, worldOf } from './state.ts'

/** In which order everybody asks again. */
export const ORDERS = ['devices first', 'ICCIDs first', 'next first', 'back first'] as const
export type Order = (typeof ORDERS)[number]

/** A call, and what has come of it. */
export interface Asked {
  readonly what: 'status' | 'next' | 'device' | 'iccid' | 'move' | 'back'
  readonly directory: string
  /** The device or the ICCID. */
  readonly whose?: string
  readonly result: Result
  readonly prints: readonly Print[]
}

const PAUSE_MS = 2 * 60_000
const DAY_MS = 25 * 3_600_000
const MOST_CALLS = 8
const ICCIDS = [1, 2, 3].map((n) => iccid(n))
const DEVICES = ['D', 'E']

class Asking {
  readonly world: World
  readonly all: Asked[] = []
  readonly #program: Program

  constructor(program: Program, world: World) {
    this.#program = program
    this.world = world
    world.now += PAUSE_MS
  }

  async #ask(
    asked: Omit<Asked, 'result' | 'prints'>,
    body: (call: Call) => Promise<Result>,
  ): Promise<number> {
    const call = this.world.add(body, 1)
    const before = this.world.prints.length
    await this.world.advance(call)
    const result = call.result as Result
    this.all.push({ ...asked, result, prints: this.world.prints.slice(before) })
    return result.code
  }

  async status(): Promise<void> {
    for (const directory of LOTS)
      await this.#ask({ what: 'status', directory }, this.#program.status(directory))
  }

  async devices(): Promise<void> {
    for (const whose of DEVICES)
      await this.#ask(
        { what: 'device', directory: LOT, whose },
        this.#program.next({ devices: [whose], directory: LOT }),
      )
  }

  async iccids(): Promise<void> {
    for (const directory of LOTS)
      for (const whose of ICCIDS)
        await this.#ask({ what: 'iccid', directory, whose }, this.#program.next({ iccid: whose, directory }))
  }

  /** Hands out all that is left. */
  async next(): Promise<void> {
    for (const directory of LOTS)
      for (let tries = 0; tries < MOST_CALLS; tries++)
        if ((await this.#ask({ what: 'next', directory }, this.#program.next({ directory }))) !== 0) break
  }

  async move(count: State['move']): Promise<void> {
    if (count === undefined) return
    const most = count === 'all' ? Number.POSITIVE_INFINITY : count
    await this.#ask({ what: 'move', directory: LOT }, this.#program.move({ count: most }))
  }

  async back(): Promise<void> {
    await this.#ask({ what: 'back', directory: LOT }, this.#program.move({ isBack: true }))
  }
}

/** Everybody asks again. */
export async function ask(
  program: Program,
  state: State,
  texts: readonly string[],
  kind: string,
  order: Order,
): Promise<Asked[]> {
  const asking = new Asking(program, worldOf(state, texts, kind))
  await asking.status()
  if (order === 'back first') await asking.back()
  if (order === 'ICCIDs first') await asking.iccids()
  else if (order !== 'next first') await asking.devices()
  asking.world.now += DAY_MS
  // What a call of `next` settles may be in transit then.
  for (let tries = 0; tries < 2; tries++) {
    await asking.move(state.move)
    await asking.next()
  }
  if (order === 'ICCIDs first' || order === 'next first') await asking.devices()
  await asking.iccids()
  await asking.status()
  return asking.all
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

function fieldsOf(text: string): Fields {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

function ownersOf(state: State, texts: readonly string[]): Owners {
  const devices = new Map<string, string>()
  const [used, given, known] = [new Set<string>(), new Set<string>(), new Set<string>()]
  for (const path of Object.keys(state.names)) {
    const text = textIn(state, texts, path) ?? ''
    for (const each of ICCIDS) if (text.includes(`"${each}"`)) known.add(each)
    const name = /^source\/__#(\d)\.json$/.exec(path)?.[1]
    if (name === undefined) continue
    const { iccid: its, device, move, moved } = fieldsOf(text)
    const record = fieldsOf(textIn(state, texts, `source/.devices/#${device}.1`) ?? '')
    const settled = `source/.#${name}.settled/`
    const isItsOwn = !(settled in state.names) || typeof state.names[`${settled}whose`] === 'number'
    if (its !== undefined && device !== undefined && isItsOwn && (record.iccid ?? its) === its)
      devices.set(its, device)
    if (moved === undefined) used.add(iccid(Number(name)))
    // A file stands for the target, a directory for the source.
    else if (typeof state.names[`source/.moves/${move}.whose`] === 'number') given.add(moved.iccid)
  }
  return { devices, used, given, known }
}

const shown = ({ iccid, device, isAgain, call }: Print) =>
  `${iccid} by ${call}${device === undefined ? '' : ` for ${device}`}${isAgain ? ' again' : ''}`

/** @returns what is wrong */
export function wrongIn(state: State, texts: readonly string[], all: readonly Asked[]): string[] {
  const owners = ownersOf(state, texts)
  return [
    ...all.flatMap(({ what, result }) =>
      result.code === 1 ? `internal error of ${what}: ${result.error}` : [],
    ),
    ...severalOwners(state, all),
    ...notItsOwn(owners, all),
    ...lost(state, owners, all),
  ]
}

/** One owner for a profile, one profile for a device; what was printed before counts. */
function* severalOwners({ printed }: State, all: readonly Asked[]): Generator<string> {
  const before = printed.map(([iccid = '', device]) => ({
    call: 'the killed call',
    iccid,
    device,
    isAgain: false,
    owner: undefined,
    at: 0,
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

function* notItsOwn({ devices, used, given }: Owners, all: readonly Asked[]): Generator<string> {
  for (const { what, directory, prints } of all) {
    for (const print of prints) {
      const its = devices.get(print.iccid)
      if (its !== undefined && its !== print.device) yield `${shown(print)}, which is that of ${its}`
      if (what === 'next' && used.has(print.iccid)) yield `${shown(print)}, which counts as used`
      if (directory === LOT && given.has(print.iccid)) yield `${shown(print)}, which ${STICK} may have`
    }
  }
}

/** Each is printed, or named by a call that was not asked for it. */
function* lost({ printed }: State, { known }: Owners, all: readonly Asked[]): Generator<string> {
  for (const each of known) {
    const isPrinted = [...printed, ...all.flatMap(({ prints }) => prints.map(({ iccid }) => [iccid]))].some(
      ([iccid]) => iccid === each,
    )
    const isNamed = all.some(
      ({ whose, result: { error, hint, told, printed } }) =>
        whose !== each && [error, hint, printed, ...told].some((text) => text.includes(each)),
    )
    if (!isPrinted && !isNamed) yield `${each} is neither printed nor named`
  }
}
