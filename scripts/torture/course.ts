/** Where claims are raced: one directory, the stations that see it, and the files they go through. */
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

/** What has become of the files of a race, by its name. */
export type Counts = Readonly<Record<string, number>>

export interface Result {
  readonly counts: Counts
  /** What was thrown at each call that failed. */
  readonly failures: readonly string[]
}

/** How many files a race has. */
export const FILES = 100

const CLAIMANT = fileURLToPath(new URL('./claimant.ts', import.meta.url))
const START_MS = 500

/** A network file system remembers names and attributes for a while, NFS for a minute. */
const BELIEF_MS = 90_000
const LOOK_PAUSE_MS = 500

export class Course {
  readonly #views: readonly string[]
  readonly #stations: readonly ChildProcess[]
  readonly #random: Random
  /** What one claim takes, as the last race in lockstep has shown. */
  #claimMs = 0.1
  #turns = 0

  private constructor(views: readonly string[], stations: readonly ChildProcess[], random: Random) {
    this.#views = views
    this.#stations = stations
    this.#random = random
    // It may be somebody's share: nothing stays there, also when it is interrupted.
    process.once('exit', () => this.close())
  }

  /**
   * Starts as many stations as there are views of one directory, two at least.
   * @throws where they are not the same directory
   */
  static async open(
    [first = '', second = first, ...more]: readonly string[],
    random: Random,
  ): Promise<Course> {
    const above = [first, second, ...more]
    const name = basename(mkdtempSync(join(first, 'softsim-claim-')))
    const views = above.map((each) => join(each, name))
    const course = new Course(
      views,
      views.map(() => fork(CLAIMANT)),
      random,
    )
    for (const [at, view] of views.entries()) {
      if (await becomes(() => existsSync(view))) continue
      course.close()
      throw new Error(`${above[at]} and ${first} are different directories`)
    }
    return course
  }

  close(): void {
    for (const station of this.#stations) station.kill()
    rmSync(this.#views[0] ?? '', { recursive: true, force: true, maxRetries: 5 })
  }

  /** @param isTimed each file has an instant of its own */
  async run(ways: readonly [Way, Way], isTimed: boolean): Promise<Result> {
    const turn = String(this.#turns++)
    const directory = join(this.#views[0] ?? '', turn)
    const names = Array.from({ length: FILES }, (_, n) => `${iccid(n)}.json`)
    mkdirSync(directory)
    await Promise.all(names.map((name) => writeFile(join(directory, name), contents(name))))
    const start = now() + START_MS
    const outcomes = await Promise.all(
      this.#stations.map((station, at) =>
        ask(station, {
          directory: join(this.#views[at] ?? '', turn),
          way: ways[at % 2] ?? ways[0],
          names,
          at: isTimed ? this.#instants(start) : [start],
        }),
      ),
    )
    if (!isTimed) this.#claimMs = Math.max(...outcomes.map(({ milliseconds }) => milliseconds)) / FILES
    const result = await resultOf(directory, names, outcomes)
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
    return result
  }

  /** So near to each other that the claims overlap, now this station first and now that. */
  #instants(start: number): number[] {
    const apart = 2 * this.#claimMs + 1
    return Array.from({ length: FILES }, (_, n) => start + n * apart + this.#random.next() * this.#claimMs)
  }
}

/** Their contents must be under one of the two names, and those that were won under the used one. */
async function resultOf(
  directory: string,
  names: readonly string[],
  all: readonly Outcome[],
): Promise<Result> {
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
  const failures = all.flatMap((outcome) => outcome.failures)
  const each = all.map((outcome, at) => [`won by station ${at + 1}`, outcome.won.length])
  const counts = {
    files: names.length,
    ...Object.fromEntries(each),
    'by more than one': names.filter((name) => winners(name) > 1).length,
    'by nobody': names.length - won.length,
    'not marked used': unmarked.length,
    'contents lost': lost.length,
    'failed calls': failures.length,
  }
  return { counts, failures }
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
