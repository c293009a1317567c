/**
 * Many stations, two fetches and two moves to and from another directory at one directory, some of them killed at random,
 * the hint deleted and spoilt.
 */
import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Crew } from './crew.ts'
import { Ledger } from './ledger.ts'
import { look } from './sight.ts'
import { type Tally, Violation } from './tally.ts'
import type { Works } from './works.ts'

const STATIONS = 16
const PROFILES = 500
const FETCHES = 2
const MOVES = 2
const CONTESTANTS = 4
const CONTEST_TURNS = 12
const RISK = 0.12

/** One directory under the names by which the stations know it. */
export interface Place {
  /** Where it is looked at, and first of all filled. */
  readonly directory: string
  /** Its other names: each station has one of them. */
  readonly names: readonly string[]
}

/** Races until the time is over, once at least. */
export async function race(works: Works, tally: Tally, until: number): Promise<undefined> {
  do {
    const directory = works.newPath()
    await raceOnce(works, tally, { directory, names: [directory] })
    await contest(works, tally)
    tally.add('races')
    rmSync(directory, { recursive: true })
  } while (performance.now() < until)
}

/** @throws {Violation} */
export async function raceOnce(works: Works, tally: Tally, { directory, names }: Place): Promise<void> {
  const filled = await works.fetch(directory, PROFILES)
  if (filled.code !== 0) throw new Violation(`fetch ended with ${filled.code}: ${filled.stderr}`)
  const ledger = new Ledger()
  ledger.keep(look(directory).unused)
  const crew = new Crew(works, tally, ledger)
  const all = <T>(count: number, work: (name: string) => T) =>
    Array.from({ length: count }, (_, at) => work(names[at % names.length] ?? directory))
  const apart = works.newPath()
  const busy = [
    ...all(MOVES, (name) => crew.moving([name, apart], { risk: RISK })),
    ...all(FETCHES, (name) => crew.fetching(name, { risk: RISK })),
    ...all(STATIONS, (name) => crew.station(name, { risk: RISK })),
    crew.spoiling(directory),
  ]
  // They must come to an end, so the service does first.
  await sleep(works.random.whole(2000, 5000))
  crew.isOn = false
  await Promise.all(busy)
  await crew.finishMoves([directory, apart])
  await ledger.finish(works, [directory, apart], crew.atStake)
  tally.add('claimed and not printed', ledger.stuck([directory, apart]).length)
  tally.add('kills', crew.kills)
  ledger.end('race', directory, apart)
}

/**
 * Nothing but small fetches into one directory: what one tidies up, another one may be about to use.
 * @throws {Violation}
 */
async function contest(works: Works, tally: Tally): Promise<void> {
  const directory = works.newPath()
  const before = works.service.delivered.size
  const ledger = new Ledger()
  const crew = new Crew(works, tally, ledger)
  const fetching = async () => {
    for (let turn = 0; turn < CONTEST_TURNS; turn++) {
      const { code, stderr } = await crew.see(works.startFetch(directory, works.random.whole(1, 3)))
      tally.add('fetches at once')
      if (code === 3) ledger.problems.add(`fetch ended with ${code}: ${stderr}`)
    }
  }
  await Promise.all(Array.from({ length: CONTESTANTS }, fetching))
  ledger.keep(works.deliveredSince(before))
  ledger.check([directory], true)
  ledger.end('fetches at once', directory)
}
