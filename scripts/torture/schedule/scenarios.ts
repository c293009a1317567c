/** The calls of a schedule, and the directories that they begin with. */
import { iccid } from '../../../test/support/profiles.ts'
import { type Body, type Call, type Entry, type Result, World } from './engine.ts'
import type { Kind } from './kinds.ts'
import { LOT, LOTS, RECEIPTS, STICK, THIRD } from './names.ts'
import type { Move, Program, StoredProfile } from './program.ts'

/** The nth profile, from 1 on. */
export function profile(n: number): StoredProfile {
  const imsi = `00101${String(n).padStart(10, '0')}`
  const plain = { iccid: iccid(n), imsi, opc: '0'.repeat(32), k: '1'.repeat(32) }
  return { iccid: plain.iccid, profile: Buffer.from(JSON.stringify(plain)).toString('base64') }
}

const ALL = Number.POSITIVE_INFINITY
const MOVE: Move = { count: 1, source: LOT, target: STICK }
const HOME: Move = { count: ALL, source: STICK, target: LOT }
const ONWARD: Move = { count: ALL, source: STICK, target: THIRD }
const HOMEWARD: Move = { count: ALL, source: THIRD, target: LOT }

/** What a call wants: to move profiles, one move after the other, or to print some. */
export interface Want {
  readonly moves?: readonly Move[]
  /** How many profiles it prints. */
  readonly count?: number
  readonly devices?: readonly string[]
  /** Which profile it names. */
  readonly iccid?: number
  readonly isNew?: boolean
  readonly directory?: string
}

/** By what a schedule calls them. */
const WANTS: Record<string, Want> = {
  next: { count: 1 },
  next2: { count: 2 },
  next3: { count: 3 },
  deviceD: { devices: ['D'], count: 1 },
  deviceE: { devices: ['E'], count: 1 },
  devicesDE: { devices: ['D', 'E'], count: 2 },
  /** Another spelling of the same serial number, and of another device. */
  lowerD: { devices: ['d'], count: 1 },
  newLowerD: { devices: ['d'], count: 1, isNew: true },
  iccid: { count: 1, iccid: 1 },
  bindD: { devices: ['D'], count: 1, iccid: 1 },
  nextT: { count: 1, directory: STICK },
  next2T: { count: 2, directory: STICK },
  move: { moves: [MOVE] },
  move2: { moves: [{ ...MOVE, count: 2 }] },
  moveall: { moves: [{ ...MOVE, count: ALL }] },
  move3rd: { moves: [{ ...MOVE, target: THIRD }] },
  home: { moves: [HOME] },
  onward: { moves: [ONWARD] },
  homeward: { moves: [HOMEWARD] },
  relay: { moves: [MOVE, ONWARD] },
  round: { moves: [MOVE, HOME] },
  rounds: { moves: [MOVE, HOME, MOVE, HOME] },
  circle: { moves: [MOVE, ONWARD, HOMEWARD] },
}

export const wantOf = (name: string): Want => WANTS[name] ?? {}

/** The calls of which that does not say all. */
const OTHERS: Record<string, (program: Program, profiles: number) => Body> = {
  store: (program, profiles) => program.store([profile(profiles + 1)]),
  /** The service sends again what is there already. */
  storeagain: (program, profiles) => program.store([profile(1), profile(profiles + 1)]),
  settle: (program) => program.settle(LOTS),
  back: (program) => program.move(MOVE, { isBack: true }),
  lost: (program) => program.move(MOVE, { isLost: true }),
  restore: (program) => program.restore(EARLIER),
}

/** @throws {Error} if there is no such call */
export function bodyOf(program: Program, name: string, profiles: number): Body {
  const other = OTHERS[name]
  if (other !== undefined) return other(program, profiles)
  const want = WANTS[name]
  if (want === undefined) throw new Error(`there is no call ${name}`)
  const { moves = [], iccid: n, count, ...how } = want
  if (moves.length > 0) return inTurn(moves.map((each) => program.move(each)))
  return program.next({
    ...how,
    ...(count !== undefined && { count }),
    ...(n !== undefined && { iccid: iccid(n) }),
  })
}

/** One call after the other, as one, until one fails. */
const inTurn = (bodies: readonly Body[]) => async (call: Call) => {
  let result: Result | undefined
  for (const body of bodies) {
    result = await body(call)
    if (result.outcome !== 'done') break
  }
  return result as Result
}

const HOUR_MS = 3_600_000

/** Its calls are a group of their own. */
const GROUP = 9

/** The receipts of the calls before a schedule. */
export const EARLIER = ['B', 'C', 'D'].map((id) => `${RECEIPTS}/${id}${GROUP}`)

/**
 * What was called before, to the end, and in the end `&` puts the backup back that was made after the first; `&0` as a
 * program does that flushes nothing.
 */
const STARTS: Record<string, readonly string[]> = {
  /** No call has been there, as in the others. */
  new: [],
  fresh: [],
  assigned: ['deviceD'],
  moved: ['move'],
  been: ['round'],
  backup: ['deviceD', 'next', 'move', '&'],
  unpacked: ['deviceD', 'next', 'move', '&0'],
}

/** Which calls a start has made; one that was killed ends with `!` and after how many changes. */
const callsOf = (start: string): readonly string[] => STARTS[start] ?? start.split(',')

/** The calls of the start and of the schedule, without how they ended. */
export const allCalls = (start: string, calls: readonly string[]): string[] =>
  [...callsOf(start), ...calls]
    .map((name) => name.replace(/!\d+$/, ''))
    .filter((name) => !name.startsWith('&'))

/** Whether a step has changed names. A kill after it differs from one before. */
export const isChange = ({ touched }: Entry) => touched.some((each) => /^>[^#]/.test(each))

const begun = new Map<string, Promise<World>>()

/** A world before the first call of the schedule. */
export async function begin(program: Program, kind: Kind, start: string, profiles: number): Promise<World> {
  const key = `${kind.name} ${start} ${profiles}`
  const known = begun.get(key) ?? build(program, kind, start, profiles)
  begun.set(key, known)
  const before = await known
  const world = new World(kind, before.disk.copy())
  world.now = before.now
  world.prints.push(...before.prints)
  return world
}

async function build(program: Program, kind: Kind, start: string, profiles: number): Promise<World> {
  const world = new World(kind)
  const { disk } = world
  for (const path of ['/disk', '/stick', '/third', ...LOTS, RECEIPTS]) disk.makeDirectory(path, 0o700)
  for (let n = 1; n <= profiles; n++) disk.put(`${LOT}/${iccid(n)}.json`, JSON.stringify(profile(n)))
  disk.flushAll()
  // The files are old.
  world.now += HOUR_MS
  const first = world.add(program.identify(start === 'new' ? [] : LOTS), GROUP + 1)
  await world.advance(first)
  if (first.result?.outcome !== 'done') throw new Error(`the start ${start}: ${first.result?.error}`)
  disk.flushAll()
  for (const name of callsOf(start)) {
    const [, own = '', changes] = /^(\w+)(?:!(\d+))?$/.exec(name) ?? []
    if (name.startsWith('&') && world.backup !== undefined) disk.restore(LOT, world.backup, name === '&')
    else await goOn(world, world.add(bodyOf(program, own, profiles), GROUP), Number(changes ?? ALL))
    world.backup ??= disk.backup(LOT)
  }
  return world
}

/** Lets a call go on until it has changed names so often. */
async function goOn(world: World, call: Call, changes: number): Promise<void> {
  if (changes === ALL) return world.advance(call)
  while (call.state === 'alive' && call.log.filter((each) => each.isPoint && isChange(each)).length < changes)
    await world.advance(call, 1)
}

/** How many changes of names a call makes in a directory with so many profiles. */
export async function changesOf(
  program: Program,
  kind: Kind,
  name: string,
  profiles: number,
): Promise<number> {
  const world = await begin(program, kind, 'fresh', profiles)
  const call = world.add(bodyOf(program, name, profiles))
  await world.advance(call)
  return call.log.filter((each) => each.isPoint && isChange(each)).length
}
