/**
 * Races the claim itself, without the rest of the program: stations go through the same files at the same time, and
 * one of them must win each. It runs in any directories, so it tells whether a file server is safe.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { nextName } from '../../src/store/claim.ts'
import { iccid } from '../../test/support/profiles.ts'
import { now, type Outcome, type Turn, type Way } from './claimant.ts'
import type { Random } from './random.ts'
import { type Tally, Violation } from './tally.ts'
import type { Works } from './works.ts'

/** What every other station does; timed: each file has an instant of its own, else they go as fast as they can. */
const RACES: readonly [name: string, ways: readonly [Way, Way], isTimed: boolean][] = [
  ['claims in lockstep', ['claim', 'claim'], false],
  ['claims at the same instant', ['claim', 'claim'], true],
  ['claims that come back, in lockstep', ['back', 'back'], false],
  ['claims that come back, at the same instant', ['back', 'claim'], true],
  ['claims and bare renames, in lockstep', ['claim', 'bare rename'], false],
  ['claims and bare renames, at the same instant', ['claim', 'bare rename'], true],
]

interface Race {
  readonly name: string
  readonly ways: readonly [Way, Way]
  readonly isTimed: boolean
  /** What has become of the files. */
  readonly sum: Map<string, number>
  /** What was thrown at each call that failed. */
  readonly failures: string[]
}

/**
 * Races until the time is over, each race once at least, and says how each went.
 * @param given one directory as each station sees it; none for one on a disk of this machine
 * @throws {Violation}
 */
export async function raceClaims(
  works: Works,
  tally: Tally,
  until: number,
  given?: readonly string[],
): Promise<undefined> {
  const own = works.newPath()
  mkdirSync(own)
  const course = await openCourse(given ?? [own], works.random)
  const races = RACES.map(
    ([name, ways, isTimed]): Race => ({ name, ways, isTimed, sum: new Map(), failures: [] }),
  )
  try {
    for (let turn = 0; turn < races.length || performance.now() < until; turn++) {
      await course.run(races[turn % races.length] as Race)
      tally.add('files raced for', FILES)
      tally.show('claim')
    }
  } finally {
    course.close()
  }
  const problems = races.flatMap(({ name, ways, sum, failures: [first] }) => {
    const counts = [...sum].map(([what, count]) => `${what} ${count}`)
    console.log(`${name}: ${counts.join(', ')}${first === undefined ? '' : ` (${first})`}`)
    return faultsIn(ways, given === undefined)
      .filter((what) => sum.get(what))
      .map((what) => `${name}: ${what} ${sum.get(what)}`)
  })
  if (problems.length > 0) throw new Violation(problems.join('\n'))
}

/**
 * What must not be. Where a bare rename wins what a claim has won, stations that only rename are not safe beside ours:
 * that is told, but it is a fault on a disk of this machine alone, and not on Windows.
 */
function faultsIn(ways: readonly Way[], isOwnDisk: boolean): string[] {
  const areAllClaims = !ways.includes('bare rename')
  const isExclusive = areAllClaims || (isOwnDisk && process.platform !== 'win32')
  return [
    ...['contents lost', 'not marked used'],
    ...(isExclusive ? ['by more than one'] : []),
    ...(areAllClaims ? ['failed calls'] : []),
  ]
}

/** How many files a race has. */
const FILES = 100

const CLAIMANT = fileURLToPath(new URL('./claimant.ts', import.meta.url))
const START_MS = 500

/** A network file system remembers names and attributes for a while, NFS for a minute. */
const BELIEF_MS = 90_000
const LOOK_PAUSE_MS = 500

/** Starts as many stations as there are views of one directory, two at least, which go through its files. */
async function openCourse([first = '', second = first, ...more]: readonly string[], random: Random) {
  const above = [first, second, ...more]
  const name = basename(mkdtempSync(join(first, 'softsim-claim-')))
  const views = above.map((each) => join(each, name))
  const stations = views.map(() => fork(CLAIMANT))
  let turns = 0
  /** What one claim takes, as the last race in lockstep has shown. */
  let claimMs = 0.1

  const remove = (path: string) => rmSync(path, { recursive: true, force: true, maxRetries: 5 })
  const close = () => {
    for (const station of stations) station.kill()
    remove(join(first, name))
  }
  // It may be somebody's share: nothing stays there, also when it is interrupted.
  process.once('exit', close)
  for (const [at, view] of views.entries()) {
    if (await becomes(() => existsSync(view))) continue
    close()
    throw new Error(`${above[at]} and ${first} are different directories`)
  }

  /** So near to each other that the claims overlap, now this station first and now that. */
  const instants = (start: number) =>
    Array.from({ length: FILES }, (_, n) => start + n * (2 * claimMs + 1) + random.next() * claimMs)

  /** What becomes of the files of a race is counted in its sum. */
  const run = async ({ ways, isTimed, sum, failures }: Race): Promise<void> => {
    const turn = String(turns++)
    const directory = join(first, name, turn)
    const names = Array.from({ length: FILES }, (_, n) => `${iccid(n)}.json`)
    mkdirSync(directory)
    await Promise.all(names.map((each) => writeFile(join(directory, each), contents(each))))
    const start = now() + START_MS
    const asked = stations.map((station, at) =>
      ask(station, {
        directory: join(views[at] ?? '', turn),
        way: ways[at % 2] ?? ways[0],
        names,
        at: isTimed ? instants(start) : [start],
      }),
    )
    const outcomes = await Promise.all(asked)
    if (!isTimed) claimMs = Math.max(...outcomes.map(({ milliseconds }) => milliseconds)) / FILES
    for (const [what, count] of Object.entries(await countsOf(directory, names, outcomes)))
      sum.set(what, (sum.get(what) ?? 0) + count)
    failures.push(...outcomes.flatMap((outcome) => outcome.failures))
    remove(directory)
  }
  return { run, close }
}

/** Their contents must be under one of the two names, and those that were won under the used one. */
async function countsOf(
  directory: string,
  names: readonly string[],
  all: readonly Outcome[],
): Promise<Record<string, number>> {
  const winners = (name: string) => all.filter(({ won }) => won.includes(name)).length
  const won = names.filter((name) => winners(name) > 0)
  let lost: string[] = []
  let unmarked: string[] = []
  await becomes(async () => {
    const used = await holding(directory, names, '__')
    const unused = await holding(directory, names, '')
    lost = names.filter((name) => !used.has(name) && !unused.has(name))
    unmarked = won.filter((name) => !used.has(name))
    return lost.length + unmarked.length === 0
  })
  const each = all.map((outcome, at) => [`won by station ${at + 1}`, outcome.won.length])
  return {
    files: names.length,
    ...Object.fromEntries(each),
    'by more than one': names.filter((name) => winners(name) > 1).length,
    'by nobody': names.length - won.length,
    'not marked used': unmarked.length,
    'contents lost': lost.length,
    'failed calls': all.reduce((sum, { failures }) => sum + failures.length, 0),
  }
}

const PROFILE = 'x'.repeat(700)

const contents = (name: string) => JSON.stringify({ iccid: name.slice(0, -'.json'.length), profile: PROFILE })

/** Those whose contents are under their last name with this prefix. */
async function holding(directory: string, names: readonly string[], prefix: string): Promise<Set<string>> {
  const read = (name: string) => readFile(join(directory, prefix + name), 'utf8').catch(() => undefined)
  const texts = await Promise.all(
    names.map(async (name) => (await read(nextName(name))) ?? (await read(name))),
  )
  return new Set(names.filter((name, at) => texts[at]?.startsWith(contents(name).slice(0, -1))))
}

/** Whether it is so, or becomes so when a network file system looks again. */
async function becomes(isSo: () => boolean | Promise<boolean>): Promise<boolean> {
  for (const end = now() + BELIEF_MS; !(await isSo()); await sleep(LOOK_PAUSE_MS)) {
    if (now() > end) return false
  }
  return true
}

function ask(station: ChildProcess, turn: Turn): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error('a station ended before its turn was over'))
    station.once('exit', ended)
    station.once('message', (outcome: Outcome) => {
      station.off('exit', ended)
      resolve(outcome)
    })
    station.send(turn, (error) => error && reject(error))
  })
}
