/** The calls of a schedule, and the directories that they begin with. */
import { createHash } from 'node:crypto'
import { iccid } from '../../../test/support/profiles.ts'
import type { Disk, Kind } from './disk.ts'
import { type Call, type Result, step, World } from './engine.ts'
import { files } from './fs.ts'
import { EARLIER, LOT, LOTS, OTHER, parseName, RECEIPTS, STICK, THIRD } from './names.ts'
import type { Program, StoredProfile } from './program.ts'

/** The nth profile, from 1 on. */
function profile(n: number): StoredProfile {
  const imsi = `00101${String(n).padStart(10, '0')}`
  const plain = { iccid: iccid(n), imsi, opc: '0'.repeat(32), k: '1'.repeat(32) }
  return { iccid: plain.iccid, profile: Buffer.from(JSON.stringify(plain)).toString('base64') }
}

const fileOf = (n: number) => JSON.stringify(profile(n))

type Body = (call: Call) => Promise<Result>

/** A command of `move`. */
export interface Move {
  readonly count: number
  readonly source: string
  readonly target: string
}

const ALL = Number.POSITIVE_INFINITY
const MOVE: Move = { count: 1, source: LOT, target: STICK }
const ONWARD: Move = { count: ALL, source: STICK, target: THIRD }
const HOME: Move = { count: 1, source: STICK, target: LOT }

/** What a call wants: first to move profiles, then to print some. */
interface Want {
  readonly moves?: readonly Move[]
  /** How many profiles it prints. */
  readonly count?: number
  readonly devices?: readonly string[]
  /** Which profile it names. */
  readonly iccid?: number
  readonly isNew?: boolean
  /** In the directory of the stick. */
  readonly isOnStick?: boolean
}

/** By what a schedule calls them. */
export const WANTS: Record<string, Want> = {
  next: { count: 1 },
  next2: { count: 2 },
  next3: { count: 3 },
  deviceD: { devices: ['D'], count: 1 },
  deviceE: { devices: ['E'], count: 1 },
  deviceLowerD: { devices: ['d'], count: 1 },
  devicesDE: { devices: ['D', 'E'], count: 2 },
  iccid: { count: 1, iccid: 1 },
  iccid2: { count: 1, iccid: 2 },
  newD: { devices: ['D'], count: 1, isNew: true },
  bindD: { devices: ['D'], count: 1, iccid: 1 },
  bindE: { devices: ['E'], count: 1, iccid: 1 },
  rename: { count: 1 },
  renameT: { count: 1, isOnStick: true },
  move: { moves: [MOVE] },
  move2: { moves: [{ ...MOVE, count: 2 }] },
  moveall: { moves: [{ ...MOVE, count: ALL }] },
  move3rd: { moves: [{ ...MOVE, target: THIRD }] },
  relay: { moves: [MOVE, ONWARD] },
  handover: { moves: [MOVE], count: 1, isOnStick: true },
  home: { moves: [HOME] },
  round: { moves: [MOVE, HOME] },
  rounds: { moves: [MOVE, HOME, MOVE, HOME] },
  nextT: { count: 1, isOnStick: true },
  iccidT: { count: 1, iccid: 1, isOnStick: true },
}

/** The calls of which that does not say all. */
const OTHERS: Record<string, (program: Program, profiles: number) => Body> = {
  restore: (program) => program.restore(),
  status: (program) => program.status(),
  store: (program, profiles) => program.store([profile(1), profile(profiles + 1)]),
  storeanew: (program, profiles) => program.store([profile(1), profile(profiles + 1)], true),
  recover: (program) => program.recover(),
  back: (program) => program.move({ isBack: true }),
  iccidall: (program) => inTurn(LOTS.map((directory) => program.next({ directory, iccid: iccid(1) }))),
  rename: () => renameTool(LOT),
  renameT: () => renameTool(STICK),
}

/** @throws {Error} if there is no such call */
export function bodyOf(program: Program, name: string, profiles: number): Body {
  const other = OTHERS[name]
  if (other !== undefined) return other(program, profiles)
  const want = WANTS[name]
  if (want === undefined) throw new Error(`there is no call ${name}`)
  const { moves = [], count, devices, iccid: n, isNew = false, isOnStick } = want
  const how = {
    ...(devices === undefined ? { count: count ?? 1 } : { devices }),
    ...(n === undefined ? {} : { iccid: iccid(n) }),
    ...{ isNew, directory: isOnStick ? STICK : LOT },
  }
  return inTurn([...moves.map((each) => program.move(each)), ...(count ? [program.next(how)] : [])])
}

/** One call after the other, as one. */
const inTurn = (bodies: readonly Body[]) => async (call: Call) => {
  let result: Result | undefined
  for (const body of bodies) result = await body(call)
  return result as Result
}

/** Another tool, which claims by a rename alone. */
const renameTool =
  (directory: string) =>
  async ({ id }: Call): Promise<Result> => {
    await null
    const done = { code: 0, error: '', hint: '', told: [], printed: '' }
    try {
      for (const name of files.readdirSync(directory)) {
        const found = parseName(name)
        if (found === undefined || found.isUsed) continue
        try {
          files.renameSync(`${directory}/${name}`, `${directory}/__${name}`)
        } catch (error) {
          // Another call was first.
          if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue
          throw error
        }
        for (const path of [`${directory}/__${name}`, directory]) files.fsyncSync(files.openSync(path))
        const device = `the tool of ${id}`
        const print = { call: id, iccid: found.iccid, device, isAgain: false, owners: [id] }
        const isPrinted = step('print', '', true, ({ world }) => {
          const isWhole = textOf(world.disk, `${directory}/__${name}`).endsWith('}')
          return isWhole && world.prints.push(print) > 0
        })
        // Another call has not written it to the end.
        if (!isPrinted) return { ...done, code: 5, error: `can't decrypt ${name}` }
        return done
      }
      return { ...done, code: 3 }
    } catch (error) {
      return { ...done, code: 9, error: String(error) }
    }
  }

/** Writes a file of the start. */
function put(disk: Disk, path: string, text: string, mtimeMs: number): void {
  disk.actor = { ...disk.actor, now: mtimeMs }
  disk.put(path, text)
}

const HOUR_MS = 3_600_000

/** As version 1.0.0 recorded that device D has the first profile. */
function assign(disk: Disk, now: number): void {
  const claimed = new Date(now - HOUR_MS).toISOString()
  const record = { ...profile(1), device: 'D', station: 'station', claimed, file: `${iccid(1)}.json` }
  disk.makeDirectory(`${LOT}/.devices`, 0o700)
  put(disk, recordPath(), JSON.stringify(record), now - HOUR_MS)
}

const recordPath = () => `${LOT}/.devices/${createHash('sha256').update('D').digest('hex')}.1`

/** As version 1.1 did, in a file; otherwise in a directory. */
function putAside(disk: Disk, now: number, text: string, isEarlier = false): void {
  const path = `${LOT}/.incoming/station~99~00000000-0000-4000-8000-000000000000.answer`
  disk.actor = { ...disk.actor, now: now - HOUR_MS }
  disk.makeDirectory(`${LOT}/.incoming`, 0o700)
  if (!isEarlier) disk.makeDirectory(path, 0o700)
  put(disk, isEarlier ? path : `${path}/answer`, text, now - HOUR_MS)
}

const answerOf = (...numbers: number[]) => numbers.map((n) => `${fileOf(n)}\n`).join('')

/** An answer whose end is lost, for which a person has to ask. */
export const TORN = answerOf(1, 2).slice(0, -5)

/** What else is there beside the unused profiles. */
const FILES: Record<string, (disk: Disk, now: number, profiles: number) => void> = {
  fresh() {},
  assigned: assign,
  claimed(disk, now) {
    assign(disk, now)
    if (disk.rules.hasFatRules)
      put(disk, `${LOT}/__${iccid(1)}.json`, textOf(disk, recordPath()), now - HOUR_MS)
    else disk.link(recordPath(), `${LOT}/__${iccid(1)}.json`)
  },
  halfclaim(disk, now) {
    put(disk, `${LOT}/__${iccid(1)}.json`, '', now - 120_000)
  },
  answer: (disk, now, profiles) => putAside(disk, now, answerOf(1, profiles + 1)),
  torn: (disk, now) => putAside(disk, now, TORN, true),
  missing: (disk) => disk.removeDirectory(LOT),
  backup(disk, now) {
    const [claimed, to] = [new Date(now - HOUR_MS).toISOString(), STICK]
    const receipt = (n: number, more: object) =>
      JSON.stringify({
        ...{ time: claimed, station: 'station', device: null, iccid: iccid(n), directory: LOT },
        ...{ file: `__${iccid(n)}.json`, again: false, ...more },
      })
    const move = '00000000-0000-4000-8000-00000000000a'
    put(disk, EARLIER, `${receipt(1, { device: 'D' })}\n${receipt(2, { to, move })}\n`, now - HOUR_MS)
  },
  damaged(disk, now) {
    put(disk, `${STICK}/${iccid(9)}.json`, '{', now - HOUR_MS)
  },
}

/** Lets a move of one profile go on until the names in the directory are these, and kills it then. */
const killedMove =
  (isThere: (names: readonly string[]) => boolean) => async (world: World, program: Program) => {
    const call = world.add(program.move(MOVE), 9)
    while (!isThere(world.disk.namesOf(LOT))) await world.advance(call, 1)
  }

const moved = (world: World, program: Program) => world.advance(world.add(program.move(MOVE), 9))

/** The starts with a move. */
const MOVED: Record<string, (world: World, program: Program) => Promise<void>> = {
  halfmoved: killedMove((names) => names.some((name) => name.startsWith('__'))),
  given: killedMove((names) => names.some((name) => name.startsWith('__') && !names.includes(name.slice(2)))),
  moved,
  // As `cp -an` puts a backup back.
  async restored(world, program) {
    await moved(world, program)
    put(world.disk, `${LOT}/${iccid(1)}.json`, fileOf(1), world.now - HOUR_MS)
  },
}

/** What a call has done before. */
const BEGUN: typeof MOVED = {
  ...MOVED,
  hint: (world, program) => world.advance(world.add(program.hint(), 9)),
}

export const STARTS = [...Object.keys(FILES), ...Object.keys(BEGUN)]

/** The command of the starts with a move. */
export const begunMoves = (start: string): readonly Move[] => (start in MOVED ? [MOVE] : [])

export const textOf = (disk: Disk, path: string) => disk.at(path)?.content.toString() ?? ''

const begun = new Map<string, { disk: Disk; now: number }>()

/** A world before the first call. */
export async function begin(program: Program, kind: Kind, start: string, profiles: number): Promise<World> {
  const key = `${kind.name} ${start} ${profiles}`
  const known = begun.get(key) ?? (await build(program, kind, start, profiles))
  begun.set(key, known)
  const world = new World(kind, known.disk.copy())
  world.now = known.now
  world.note('', world.disk.namesOf(LOT))
  world.before = new Map(LOTS.map((lot) => [lot, world.disk.namesOf(lot)]))
  return world
}

/** Of empty directories. */
export function emptyWorld(kind: Kind): World {
  const world = new World(kind)
  for (const path of ['/disk', '/stick', '/third', LOT, STICK, THIRD, OTHER, RECEIPTS])
    world.disk.makeDirectory(path, 0o700)
  return world
}

async function build(program: Program, kind: Kind, start: string, profiles: number) {
  const world = emptyWorld(kind)
  const { disk, now } = world
  for (let n = 1; n <= profiles; n++) put(disk, `${LOT}/${iccid(n)}.json`, fileOf(n), now - HOUR_MS)
  if (!STARTS.includes(start)) throw new Error(`there is no start ${start}`)
  FILES[start]?.(disk, now + kind.skewMs, profiles)
  disk.flushAll()
  await BEGUN[start]?.(world, program)
  return { disk, now: world.now }
}
