/** Many stations and two fetches at one directory, some of them killed at random, the hint deleted and spoilt. */
import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { printedIn, type Run, type Started } from './program.ts'
import { isOwnerAlive, look, ownersGone } from './sight.ts'
import { type Tally, Violation } from './tally.ts'
import type { Works } from './works.ts'

const STATIONS = 16
const PROFILES = 500
const FETCHES = 2
const MOST_FETCHED = 12
const CONTESTANTS = 4
const CONTEST_TURNS = 12
const SHARE_KILLED = 0.12
const LATEST_KILL_MS = 900

/** One directory under the names by which the stations know it. */
export interface Place {
  /** Where it is looked at, and first of all filled. */
  readonly directory: string
  /** Its other names: each station has one of them. */
  readonly names: readonly string[]
}

/** Races until the time is over, once at least. */
export async function race(works: Works, tally: Tally, until: number): Promise<string | undefined> {
  do {
    const directory = works.newPath()
    await raceOnce(works, tally, { directory, names: [directory] })
    await contest(works, tally)
    tally.add('races')
    rmSync(directory, { recursive: true })
  } while (performance.now() < until)
  return undefined
}

/** @throws {Violation} */
export async function raceOnce(works: Works, tally: Tally, { directory, names }: Place): Promise<void> {
  const { random } = works
  const filled = await works.fetch(directory, PROFILES)
  if (filled.code !== 0) throw new Violation(`fetch ended with ${filled.code}: ${filled.stderr}`)
  const wanted = new Set(look(directory).unused)

  const printed: string[] = []
  const problems: string[] = []
  let killed = 0
  let atStake = 0
  let isOver = false

  /** Waits for the end of a call, which may come sooner than it thinks. */
  const finish = async (started: Started, takes: number): Promise<Run & { isKilled: boolean }> => {
    const isChosen = random.chance(SHARE_KILLED)
    if (isChosen) setTimeout(started.signal, random.whole(0, LATEST_KILL_MS), 'SIGKILL')
    const ended = await started.ended
    const isKilled = ended.signal === 'SIGKILL' && !ended.hung
    if (isKilled) {
      killed++
      atStake += takes
    }
    printed.push(...printedIn(ended.stdout))
    return { ...ended, isKilled }
  }

  const station = async (name: string) => {
    for (;;) {
      const takes = random.chance(0.25) ? 3 : 1
      const { code, stderr, isKilled } = await finish(works.startNext(name, '-n', String(takes)), takes)
      tally.show('race')
      if (code === 0 || isKilled) continue
      // Only one with nothing left to take may stop; three at once may be more than there are.
      if (code !== 3) return void problems.push(`next ended with ${code}: ${stderr}`)
      if (takes === 1) return
    }
  }
  const fetching = async (name: string) => {
    while (!isOver) {
      const { code, stderr, isKilled } = await finish(
        works.startFetch(name, random.whole(1, MOST_FETCHED), {}, '-vv'),
        0,
      )
      for (const [, iccid = ''] of stderr.matchAll(/^softsim: (\d+) is stored$/gm)) wanted.add(iccid)
      if (code !== 0 && !isKilled) problems.push(`fetch ended with ${code}: ${stderr}`)
      await sleep(random.whole(0, 30))
    }
  }
  const spoiling = async () => {
    const hint = join(directory, '.unused')
    while (!isOver) {
      await sleep(random.whole(1, 120))
      spoil(hint, random.whole(0, 3), random.whole(0, 2000))
    }
  }

  const fetches = Array.from({ length: FETCHES }, (_, at) => fetching(names[at % names.length] ?? directory))
  const spoiler = spoiling()
  const stations = Array.from({ length: STATIONS }, (_, at) => station(names[at % names.length] ?? directory))
  // They must come to an end, so the service does first.
  await sleep(random.whole(2000, 5000))
  isOver = true
  await Promise.all([...stations, ...fetches, spoiler])
  // A station that gave back what it could not complete may have sent another one home.
  await ownersGone(directory)
  let last: Run
  do {
    last = await works.next(directory)
    printed.push(...printedIn(last.stdout))
  } while (last.code === 0)
  if (last.code !== 3) problems.push(`the last call ended with ${last.code}: ${last.stderr}`)

  const now = look(directory)
  const twice = printed.filter((iccid, at) => printed.indexOf(iccid) !== at)
  const stuck = [...now.used].filter((iccid) => !printed.includes(iccid))
  const forgotten = now.asides.filter((aside) => !isOwnerAlive(aside))
  const lost = [...wanted].filter((iccid) => !now.used.has(iccid) && !now.unused.has(iccid))
  if (twice.length > 0) problems.push(`printed twice: ${twice.join(', ')}`)
  if (printed.some((iccid) => !now.used.has(iccid))) problems.push('printed and not marked used')
  if (lost.length > 0) problems.push(`lost: ${lost.join(', ')}`)
  if (now.unused.size > 0) problems.push(`passed over: ${[...now.unused].join(', ')}`)
  if (stuck.length > atStake)
    problems.push(`claimed and not printed, beyond those killed: ${stuck.join(', ')}`)
  if (forgotten.length > 0) problems.push(`still put aside: ${forgotten.map(({ name }) => name).join(', ')}`)
  if (now.torn.length > 0) problems.push(`torn: ${now.torn.join(', ')}`)
  tally.add('profiles printed', printed.length)
  tally.add('claimed and not printed', stuck.length)
  tally.add('kills', killed)
  if (problems.length > 0) throw new Violation(`race: ${[...new Set(problems)].join('; ')}\nsee ${directory}`)
}

/**
 * Nothing but small fetches into one directory: what one tidies up, another one may be about to use.
 * @throws {Violation}
 */
async function contest(works: Works, tally: Tally): Promise<void> {
  const directory = works.newPath()
  const before = works.service.delivered.size
  const problems = new Set<string>()
  const fetching = async () => {
    for (let turn = 0; turn < CONTEST_TURNS; turn++) {
      const { code, stderr } = await works.fetch(directory, works.random.whole(1, 3))
      tally.add('fetches at once')
      tally.show('race')
      if (code !== 0) problems.add(`fetch ended with ${code}: ${stderr}`)
    }
  }
  await Promise.all(Array.from({ length: CONTESTANTS }, fetching))
  const { unused } = look(directory)
  const lost = works.deliveredSince(before).filter((iccid) => !unused.has(iccid))
  if (lost.length > 0) problems.add(`lost: ${lost.join(', ')}`)
  if (problems.size > 0) throw new Violation(`fetches at once: ${[...problems].join('; ')}\nsee ${directory}`)
}

/** The hint may be gone, empty, cut off or nonsense at any time. */
function spoil(hint: string, how: number, at: number): void {
  try {
    if (how === 0) rmSync(hint)
    else if (how === 1) truncateSync(hint, Math.min(at, readFileSync(hint).length))
    else if (how === 2)
      writeFileSync(hint, 'softsim unused 1       \n99999                  \n0                      \n')
    else writeFileSync(hint, Buffer.alloc(at, '7'))
  } catch {
    // It is gone already.
  }
}
