/**
 * Races the claim itself, without the rest of the program: stations go through the same files at the same time, and
 * one of them must win each. It runs in any directories, so it tells whether a file server is safe. A station is a
 * process of its own, which runs this file: it is sent a turn, goes through the files and answers what it won.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { reasonOf } from '../../src/failure.ts'
import { pause } from '../../src/pause.ts'
import { claimAll, comeBack, usedText } from '../../src/store/claim.ts'
import { nextName } from '../../src/store/names.ts'
import { fieldsOf, readProfile } from '../../src/store/profile-file.ts'
import { iccid } from '../../test/support/profiles.ts'
import { Violation } from './tally.ts'
import type { Works } from './works.ts'

async function claimAsNext(directory: string, name: string): Promise<boolean> {
  const stored = readProfile(directory, name)
  // What is not written completely yet does not decrypt.
  if (stored === undefined || fieldsOf(stored)['profile'] === undefined) return false
  const [outcome] = await claimAll(directory, [usedText({ name, stored })])
  if (outcome !== undefined && 'error' in outcome) throw outcome.error
  return outcome?.state === 'ours'
}

/** What a station does to a file, and whether it has won it then. */
const WAYS = {
  claim: claimAsNext,
  /** The public tool of the service's vendor. */
  'bare rename': async (directory: string, name: string) => {
    try {
      renameSync(join(directory, name), join(directory, `__${name}`))
      return true
    } catch {
      return false
    }
  },
  /** What is claimed comes back, and whoever is first then keeps it. */
  back: async (directory: string, name: string) => {
    const stored = readProfile(directory, name)
    if (stored !== undefined && (await claimAsNext(directory, name)))
      await comeBack(directory, [{ name, stored }])
    return claimAsNext(directory, nextName(name))
  },
} satisfies Record<string, (directory: string, name: string) => Promise<boolean>>

type Way = keyof typeof WAYS

interface Turn {
  /** The directory as this station sees it. */
  readonly directory: string
  readonly way: Way
  /** When the first file is tried, in milliseconds since 1970. */
  readonly start: number
  /** What a claim takes, if there is an instant for each file; 0 if the station goes as fast as it can. */
  readonly claimMs: number
}

interface Outcome {
  readonly won: string[]
  /** What was thrown at each call that failed. */
  readonly failures: string[]
  readonly milliseconds: number
}

/** The clock that processes have in common, with parts of a millisecond. */
const now = () => performance.timeOrigin + performance.now()

/** Slept through, but for the end: nobody wakes up to the microsecond. */
const WATCHED_MS = 2

function waitUntil(time: number): void {
  const ahead = time - now() - WATCHED_MS
  if (ahead > 0) pause(ahead)
  while (now() < time);
}

const NAMES = Array.from({ length: 100 }, (_, n) => `${iccid(n)}.json`)

async function play({ directory, way, start, claimMs }: Turn): Promise<Outcome> {
  const [won, failures]: [string[], string[]] = [[], []]
  waitUntil(start)
  const began = now()
  for (const [index, name] of NAMES.entries()) {
    // So near to each other that the claims overlap, now this station first and now that.
    if (claimMs > 0) waitUntil(start + index * (2 * claimMs + 1) + Math.random() * claimMs)
    try {
      if (await WAYS[way](directory, name)) won.push(name)
    } catch (error) {
      failures.push(error instanceof Error ? error.message : reasonOf(error))
    }
  }
  return { won, failures, milliseconds: now() - began }
}

if (import.meta.main) process.on('message', async (turn: Turn) => process.send?.(await play(turn)))

/** What every other station does. */
const RACES: readonly [name: string, ...ways: [Way, Way]][] = [
  ['claims', 'claim', 'claim'],
  ['claims that come back,', 'back', 'back'],
  ['claims and bare renames,', 'claim', 'bare rename'],
]

const START_MS = 500

/** A network file system remembers names and attributes for a while, NFS for a minute. */
const BELIEF_MS = 90_000
const LOOK_PAUSE_MS = 500

/**
 * Races until the time is over, each race once at least, and says how each went.
 * @param given one directory as each station sees it, two stations at least; none for one on a disk of this machine
 * @throws {Violation}
 */
export async function raceClaims(
  { newPath, tally }: Works,
  until: number,
  given?: readonly string[],
): Promise<undefined> {
  const own = newPath()
  mkdirSync(own)
  const [first = own, second = first, ...more] = given ?? []
  const above = [first, second, ...more]
  const name = basename(mkdtempSync(join(first, 'softsim-claim-')))
  const stations = above.map(() => fork(import.meta.filename))
  const remove = (path: string) => rmSync(path, { recursive: true, force: true, maxRetries: 5 })
  const close = () => {
    for (const station of stations) station.kill()
    remove(join(first, name))
  }
  // It may be somebody's share: nothing stays there, also when it is interrupted.
  process.once('exit', close)
  const races = RACES.flatMap(([what, ...ways]) =>
    [false, true].map((isTimed) => ({
      name: `${what} ${isTimed ? 'at the same instant' : 'in lockstep'}`,
      ...{ ways, isTimed, sum: new Map<string, number>(), failures: [] as string[] },
    })),
  )
  /** What one claim takes, as the last race in lockstep has shown. */
  let claimMs = 0.1
  try {
    for (const each of above)
      if (!(await becomes(() => existsSync(join(each, name)))))
        throw new Error(`${each} and ${first} are different directories`)
    for (let turn = 0; turn < races.length || performance.now() < until; turn++) {
      const { ways, isTimed, sum, failures } = races[turn % races.length] as (typeof races)[number]
      const directory = join(first, name, String(turn))
      mkdirSync(directory)
      await Promise.all(NAMES.map((each) => writeFile(join(directory, each), contents(each))))
      const start = now() + START_MS
      const asked = stations.map((station, at) =>
        ask(station, {
          directory: join(above[at] ?? '', name, String(turn)),
          way: ways[at % 2] ?? ways[0],
          ...{ start, claimMs: isTimed ? claimMs : 0 },
        }),
      )
      const outcomes = await Promise.all(asked)
      if (!isTimed) claimMs = Math.max(...outcomes.map((each) => each.milliseconds)) / NAMES.length
      for (const [what, count] of Object.entries(await countsOf(directory, outcomes)))
        sum.set(what, (sum.get(what) ?? 0) + count)
      failures.push(...outcomes.flatMap((outcome) => outcome.failures))
      remove(directory)
      tally.add('files raced for', NAMES.length)
      tally.show('claim')
    }
  } finally {
    close()
  }
  const problems = races.flatMap(({ name, ways, sum, failures: [failure] }) => {
    const counts = [...sum].map(([what, count]) => `${what} ${count}`)
    console.log(`${name}: ${counts.join(', ')}${failure === undefined ? '' : ` (${failure})`}`)
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

/** Their contents must be under one of the two names, and those that were won under the used one. */
async function countsOf(directory: string, all: readonly Outcome[]): Promise<Record<string, number>> {
  const winners = (name: string) => all.filter(({ won }) => won.includes(name)).length
  const won = NAMES.filter((name) => winners(name) > 0)
  let [lost, unmarked] = [NAMES, NAMES]
  await becomes(async () => {
    const [used, unused] = [await holding(directory, '__'), await holding(directory, '')]
    lost = NAMES.filter((name) => !used.has(name) && !unused.has(name))
    unmarked = won.filter((name) => !used.has(name))
    return lost.length + unmarked.length === 0
  })
  const each = all.map((outcome, at) => [`won by station ${at + 1}`, outcome.won.length])
  return {
    files: NAMES.length,
    ...Object.fromEntries(each),
    'by more than one': NAMES.filter((name) => winners(name) > 1).length,
    'by nobody': NAMES.length - won.length,
    'not marked used': unmarked.length,
    'contents lost': lost.length,
    'failed calls': all.reduce((sum, { failures }) => sum + failures.length, 0),
  }
}

const contents = (name: string) =>
  JSON.stringify({ iccid: name.slice(0, -'.json'.length), profile: 'x'.repeat(700) })

/** Those whose contents are under their last name with this prefix. */
async function holding(directory: string, prefix: string): Promise<Set<string>> {
  const read = (name: string) => readFile(join(directory, prefix + name), 'utf8').catch(() => undefined)
  const texts = await Promise.all(
    NAMES.map(async (name) => (await read(nextName(name))) ?? (await read(name))),
  )
  return new Set(NAMES.filter((name, at) => texts[at]?.startsWith(contents(name).slice(0, -1))))
}

/** Whether it is so, or becomes so when a network file system looks again. */
async function becomes(isSo: () => boolean | Promise<boolean>): Promise<boolean> {
  for (const end = now() + BELIEF_MS; !(await isSo()); await sleep(LOOK_PAUSE_MS)) {
    if (now() > end) return false
  }
  return true
}

async function ask(station: ChildProcess, turn: Turn): Promise<Outcome> {
  station.send(turn)
  const [outcome] = await Promise.race([once(station, 'message'), once(station, 'exit')])
  if (typeof outcome !== 'object' || outcome === null)
    throw new Error('a station ended before its turn was over')
  return outcome
}
