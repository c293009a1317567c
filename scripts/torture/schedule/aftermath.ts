/** What comes after a schedule: time passes, everybody asks again, the directory is emptied, or split and emptied. */
import { iccid } from '../../../test/support/profiles.ts'
import { type Call, type Result, World } from './engine.ts'
import { imageOf } from './inode.ts'
import { LOT, LOTS, OTHER, profilesIn, STICK, THIRD } from './names.ts'
import type { Program } from './program.ts'
import { programFor } from './run.ts'
import { begunMoves, type Move, WANTS } from './scenarios.ts'
import type { Schedule } from './text.ts'

export type Aftermath = ReturnType<After['end']>

const PAUSE_MS = 2 * 60_000
export const DAY_MS = 25 * 3_600_000
export const MOST_CALLS = 8
const MOST_KNOWN = 4000

const known = new Map<string, Promise<Aftermath>>()

const devicesOf = ({ calls, start }: Schedule) => [
  ...new Set([
    ...calls.flatMap((name) => WANTS[name]?.devices ?? []),
    ...(/^(assigned|claimed|backup)$/.test(start) ? ['D'] : []),
  ]),
]

/** Once for each state of the disk: many schedules leave the same one. */
export function aftermathOf(world: World, schedule: Schedule, isSplit: boolean): Promise<Aftermath> {
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

export class After {
  readonly world: World
  readonly results: Result[] = []
  #inTransitAtFirst: number | undefined

  /** What `next` hands out right after it has said that there is nothing. */
  freed: string | undefined

  constructor({ kind, disk, now }: World) {
    this.world = new World(kind, disk.copy())
    this.world.now = now + PAUSE_MS
  }

  async run(body: (call: Call) => Promise<Result>): Promise<Result> {
    const call = this.world.add(body, 1)
    await this.world.advance(call)
    const result = call.result as Result
    this.results.push(result)
    return result
  }

  /**
   * @param unfinished as the last `status` says
   * @param inTransit how many profiles are in transit in the end; at first, it is right after the schedule
   * @param stuck who has a profile, or which profile is used, and does not get it printed in the end, with the message
   */
  end(unfinished: number, inTransit = 0, stuck: readonly string[] = []) {
    const { prints, disk } = this.world
    const inTransitAtFirst = this.#inTransitAtFirst ?? 0
    const { results, freed } = this
    return { prints, results, disk, unfinished, inTransit, inTransitAtFirst, freed, stuck }
  }

  /** What `status` counts of the directories, in all. */
  async count(program: Program, field: 'unfinished' | 'inTransit', directories = LOTS): Promise<number> {
    let sum = 0
    for (const each of directories) sum += countIn(await this.run(program.status(each)), field)
    return sum
  }

  /** Whoever moved profiles runs the same command again if `status` says that the move is not finished. */
  async moveAgain(program: Program, moves: readonly Move[]): Promise<void> {
    let sum = 0
    for (const source of [STICK, THIRD, LOT]) {
      const said = await this.run(program.status(source))
      const inTransit = countIn(said, 'inTransit')
      sum += inTransit
      if (inTransit === 0) continue
      const known = moves.filter((each) => each.source === source)
      const named = known.filter(({ target }) => said.told.some((text) => text.includes(target)))
      for (const each of named.length > 0 ? named : known) await this.run(program.move(each))
    }
    this.#inTransitAtFirst ??= sum
  }

  /** Hands out all that is left. */
  async empty(program: Program): Promise<void> {
    for (const directory of LOTS) {
      let tries = 0
      while (tries++ < MOST_CALLS) if ((await this.run(program.next({ directory }))).code !== 0) break
      if (tries > MOST_CALLS) continue
      const again = await this.run(program.next({ directory }))
      if (again.code === 0) this.freed = `${directory} has none, and then it has`
    }
  }

  /** Asks once more for what every device and every used profile has. */
  async stuck(program: Program, devices: readonly string[], profiles: number): Promise<string[]> {
    const iccids = Array.from({ length: profiles }, (_, n) => iccid(n + 1))
    const asked = [
      ...devices
        .filter((device) => this.world.prints.some((print) => print.device === device))
        .map((device) => ({ who: device, what: { devices: [device] }, lots: [LOT] })),
      ...iccids.map((each) => ({ who: each, what: { iccid: each }, lots: LOTS })),
    ]
    const stuck = []
    for (const { who, what, lots } of asked) {
      const said: string[] = []
      for (const directory of lots) {
        const { code, error } = await this.run(program.next({ ...what, directory }))
        if (code === 0) break
        said.push(`exit code ${code}, ${error}`)
      }
      if (said.length === lots.length) stuck.push(`${who}: ${said.join('; ')}`)
    }
    return stuck
  }
}

/** What `status` counts that a later call is going to settle. */
function countIn({ printed }: Result, field: 'unfinished' | 'inTransit'): number {
  try {
    const counts = JSON.parse(printed)
    if (field === 'inTransit') return counts.inTransit ?? 0
    return (counts.unfinished ?? 0) + (counts.received ?? 0)
  } catch {
    return 0
  }
}

/** The different commands that move profiles. */
export function movesOf({ calls, start }: Schedule): Move[] {
  const all = [...begunMoves(start), ...calls.flatMap((name) => WANTS[name]?.moves ?? [])]
  return [...new Map(all.map((each) => [Object.values(each).join(), each])).values()]
}

async function empty(world: World, schedule: Schedule): Promise<Aftermath> {
  const program = await programFor(world.kind.platform)
  const after = new After(world)
  await after.run(program.status())
  if (schedule.calls.includes('restore')) await after.run(program.restore())
  for (const device of devicesOf(schedule)) await after.run(program.next({ devices: [device] }))
  after.world.now += DAY_MS
  // What a call of `next` settles may be in transit then.
  for (let tries = 0; tries < 2; tries++) {
    await after.moveAgain(program, movesOf(schedule))
    await after.empty(program)
  }
  const unfinished = await after.count(program, 'unfinished')
  const inTransit = await after.count(program, 'inTransit')
  return after.end(unfinished, inTransit, await after.stuck(program, devicesOf(schedule), schedule.profiles))
}

/** As `find profiles -name '[0-9]*' -exec mv {} other \;` does. */
async function split(world: World, schedule: Schedule): Promise<Aftermath> {
  const program = await programFor(world.kind.platform)
  const after = new After(world)
  const { disk } = after.world
  const unfinished = await after.count(program, 'unfinished', [LOT])
  if (unfinished > 0) return after.end(unfinished)
  const before = disk.namesOf(LOT)
  for (const name of before) if (/^\d/.test(name)) disk.rename(`${LOT}/${name}`, `${OTHER}/${name}`)
  for (const device of devicesOf(schedule)) await after.run(program.next({ devices: [device] }))
  for (let n = 1; n <= schedule.profiles + 1; n++)
    if (profilesIn(before).get(iccid(n))?.used !== undefined)
      await after.run(program.next({ iccid: iccid(n) }))
  for (let tries = 0; tries < MOST_CALLS; tries++)
    if ((await after.run(program.next({ directory: OTHER }))).code !== 0) break
  return after.end(unfinished)
}
