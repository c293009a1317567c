/** What comes after a schedule: time passes, everybody asks again, the directory is emptied, or split and emptied. */
import { iccid } from '../../../test/support/profiles.ts'
import { type Call, type Print, type Result, World } from './engine.ts'
import { imageOf } from './inode.ts'
import { LOT, LOTS, OTHER, profilesIn, STICK, THIRD } from './names.ts'
import type { Program } from './program.ts'
import { programFor } from './run.ts'
import { begunMoves, type Move, WANTS } from './scenarios.ts'
import type { Schedule } from './text.ts'

const PAUSE_MS = 2 * 60_000
const DAY_MS = 25 * 3_600_000
const MOST_CALLS = 8
const MOST_KNOWN = 4000

const known = new Map<string, Promise<After>>()

const devicesOf = ({ calls, start }: Schedule) => [
  ...new Set([
    ...calls.flatMap((name) => WANTS[name]?.devices ?? []),
    ...(/^(assigned|claimed|backup)$/.test(start) ? ['D'] : []),
  ]),
]

/** Once for each state of the disk: many schedules leave the same one. */
export function aftermathOf(world: World, schedule: Schedule, isSplit: boolean): Promise<After> {
  const images = LOTS.map((each) => {
    const root = world.disk.at(each)
    return root && imageOf(root, world.now)
  })
  const moves = JSON.stringify(movesOf(schedule).map((each) => ({ ...each, count: String(each.count) })))
  const isRestored = schedule.calls.includes('restore')
  const key = [world.kind.name, devicesOf(schedule).join(), moves, isSplit, isRestored, ...images].join('\n')
  const found = known.get(key)
  if (found !== undefined) return found
  if (known.size > MOST_KNOWN) known.clear()
  const fresh = isSplit ? split(world, schedule) : empty(world, schedule)
  known.set(key, fresh)
  return fresh
}

/** A call, and what has come of it. */
export interface Asked {
  readonly what: string
  readonly directory: string
  /** The device or the ICCID. */
  readonly whose: string | undefined
  readonly result: Result
  readonly prints: readonly Print[]
}

/** Who asks for what, and where. */
interface Askers {
  readonly devices?: readonly string[]
  readonly iccids?: readonly string[]
  readonly moves?: readonly Move[]
  readonly directories?: readonly string[]
}

/** On a copy of the disk. */
export class After {
  readonly world: World
  readonly all: Asked[] = []
  readonly #program: Program
  /** How many profiles are in transit before a move is finished. */
  inTransitAtFirst: number | undefined

  constructor({ kind, disk, now }: World, program: Program) {
    this.world = new World(kind, disk.copy())
    this.world.now = now + PAUSE_MS
    this.#program = program
  }

  get results(): Result[] {
    return this.all.map(({ result }) => result)
  }

  async #run(what: string, body: (call: Call) => Promise<Result>, directory = LOT, whose?: string) {
    const { prints } = this.world
    const printed = prints.length
    const call = this.world.add(body, 1)
    await this.world.advance(call)
    const result = call.result as Result
    // Nobody reads its steps, and this stays in memory.
    call.log.length = 0
    this.all.push({ what, directory, whose, result, prints: prints.slice(printed) })
    return result
  }

  /** Everybody asks, in the order of these words. */
  async ask(order: string, askers: Askers): Promise<void> {
    const { devices = [], iccids = [], moves = [], directories = LOTS } = askers
    const program = this.#program
    for (const what of order.split(' ')) {
      if (what === 'day') this.world.now += DAY_MS
      if (what === 'back') await this.#run(what, program.move({ isBack: true }))
      if (what === 'restore') await this.#run(what, program.restore())
      if (what === 'again') await this.#moveAgain(moves)
      if (what === 'move') for (const each of moves) await this.#run(what, program.move(each))
      if (what === 'device')
        for (const whose of devices) await this.#run(what, program.next({ devices: [whose] }), LOT, whose)
      for (const directory of directories) {
        if (what === 'status') await this.#run(what, program.status(directory), directory)
        if (what === 'iccid')
          for (const whose of iccids)
            await this.#run(what, program.next({ iccid: whose, directory }), directory, whose)
        if (what === 'next') await this.#empty(directory)
      }
    }
  }

  /** Whoever moved profiles runs the same command again if `status` says that the move is not finished. */
  async #moveAgain(moves: readonly Move[]): Promise<void> {
    let sum = 0
    for (const source of [STICK, THIRD, LOT]) {
      const said = await this.#run('status', this.#program.status(source), source)
      const { inTransit } = countsIn(said)
      sum += inTransit
      if (inTransit === 0) continue
      const known = moves.filter((each) => each.source === source)
      const named = known.filter(({ target }) => said.told.some((text) => text.includes(target)))
      for (const each of named.length > 0 ? named : known)
        await this.#run('again', this.#program.move(each), source)
    }
    this.inTransitAtFirst ??= sum
  }

  /** Hands out all that is left, and asks once more. */
  async #empty(directory: string): Promise<void> {
    const next = () => this.#run('next', this.#program.next({ directory }), directory)
    for (let tries = 0; tries < MOST_CALLS; tries++) if ((await next()).code !== 0) break
    await next()
  }

  /** What the last calls of `status` count. */
  get left() {
    const last = LOTS.map((lot) =>
      this.all.findLast(({ what, directory }) => what === 'status' && directory === lot),
    )
    const counts = last.map((each) => countsIn(each?.result))
    const sum = (which: 'unfinished' | 'inTransit') => counts.reduce((total, each) => total + each[which], 0)
    return { unfinished: sum('unfinished'), inTransit: sum('inTransit') }
  }

  /** Where `next` hands out something right after it has said that there is nothing. */
  get freed(): string[] {
    const asked = this.all.filter(({ what }) => what === 'next')
    return asked.flatMap(({ directory, result }, at) => {
      const before = asked[at - 1]
      return result.code === 0 && before?.directory === directory && before.result.code !== 0 ? directory : []
    })
  }

  /** Who had a profile, or which profile is used, and did not get it printed in the end, with the messages. */
  get stuck(): string[] {
    const end = this.all.slice(this.all.findLastIndex(({ what }) => what === 'status'))
    const had = new Set(this.world.prints.map(({ device }) => device))
    const asked = end.filter(({ what, whose }) => what === 'iccid' || (what === 'device' && had.has(whose)))
    return [...Map.groupBy(asked, ({ whose }) => whose)]
      .filter(([, all]) => all.every(({ result }) => result.code !== 0))
      .map(([who, all]) => {
        const said = all.map(({ result }) => `exit code ${result.code}, ${result.error}`)
        return `${who}: ${said.join('; ')}`
      })
  }
}

/** What `status` counts that a later call is going to settle. */
function countsIn(said: Result | undefined): { unfinished: number; inTransit: number } {
  const { unfinished = 0, received = 0, inTransit = 0 } = JSON.parse(said?.printed || '{}')
  return { unfinished: unfinished + received, inTransit }
}

/** The different commands that move profiles. */
export function movesOf({ calls, start }: Schedule): Move[] {
  const all = [...begunMoves(start), ...calls.flatMap((name) => WANTS[name]?.moves ?? [])]
  return [...new Map(all.map((each) => [Object.values(each).join(), each])).values()]
}

async function empty(world: World, schedule: Schedule): Promise<After> {
  const after = new After(world, await programFor(world.kind.platform))
  const iccids = Array.from({ length: schedule.profiles }, (_, n) => iccid(n + 1))
  const restore = schedule.calls.includes('restore') ? 'restore ' : ''
  // What a call of `next` settles may be in transit then.
  await after.ask(`status ${restore}device day again next again next status device iccid`, {
    ...{ devices: devicesOf(schedule), iccids, moves: movesOf(schedule) },
  })
  return after
}

/** As `find profiles -name '[0-9]*' -exec mv {} other \;` does. */
async function split(world: World, schedule: Schedule): Promise<After> {
  const after = new After(world, await programFor(world.kind.platform))
  const { disk } = after.world
  await after.ask('status', { directories: [LOT] })
  if (after.left.unfinished > 0) return after
  const before = disk.namesOf(LOT)
  for (const name of before) if (/^\d/.test(name)) disk.rename(`${LOT}/${name}`, `${OTHER}/${name}`)
  const iccids = Array.from({ length: schedule.profiles + 1 }, (_, n) => iccid(n + 1))
  const used = iccids.filter((each) => profilesIn(before).get(each)?.used !== undefined)
  await after.ask('device iccid', { devices: devicesOf(schedule), iccids: used, directories: [LOT] })
  await after.ask('next', { directories: [OTHER] })
  return after
}
