/**
 * Kills `move` at its system calls and runs it again, between directories on one disk or two; then runs two moves at once
 * beside stations and a fetch, and kills them.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Image, KINDS, whyNoImages, whyNot } from './image.ts'
import { printedIn, type Run, run, type Started, start } from './program.ts'
import { look } from './sight.ts'
import { type Tally, Violation } from './tally.ts'
import { type Injection, type Point, points, readCalls, touches, traced, whyNoTrace } from './trace.ts'
import type { Works } from './works.ts'

const PROFILES = 8
const MOVED = 5
const IN_A_RACE = 150
const MOVED_IN_A_RACE = 30
const STATIONS = 2
const LATEST_KILL_MS = 600
const KILLS_A_RACE = 40

/** Two directories, the first one with profiles. */
export interface Pair {
  readonly source: string
  readonly target: string
}

const moveLine = ({ source, target }: Pair, count: number) => [
  'move',
  '-n',
  String(count),
  '-i',
  source,
  '-o',
  target,
]

/** Kills and races in turns until the time is over, once at least. */
export async function move(works: Works, tally: Tally, until: number): Promise<undefined> {
  const images = whyNoImages() === undefined ? KINDS.filter((kind) => whyNot(kind) === undefined) : []
  const mounted = images.map((kind) => new Image(kind, works.root, works.random))
  const disks = [works.root, ...mounted.map(({ mountPoint }) => mountPoint)]
  const template = works.newPath()
  await works.fetch(template, PROFILES)
  do {
    const [from = '', to = ''] = [works.random.pick(disks), works.random.pick(disks)]
    tally.add(from === to ? 'moves on one disk' : 'moves between two disks')
    if (whyNoTrace() === undefined) await killSome(works, tally, () => pairOf(template, from, to))
    await raceOnce(works, tally, pairOf(undefined, from, to))
    tally.show('move')
  } while (performance.now() < until)
  for (const image of mounted) image.unmount()
  return undefined
}

/** @param template what the source has */
export function pairOf(template: string | undefined, from: string, to: string): Pair {
  const [above, below] = [mkdtempSync(join(from, 'source-')), mkdtempSync(join(to, 'target-'))]
  const pair = { source: join(above, 'profiles'), target: join(below, 'profiles') }
  if (template === undefined) mkdirSync(pair.source, { mode: 0o700 })
  else cpSync(template, pair.source, { recursive: true })
  return pair
}

async function killSome(works: Works, tally: Tally, newPair: () => Pair): Promise<void> {
  const all = await pointsOfMove(works, newPair())
  const chosen = works.random.shuffled(all.filter(({ matters }) => matters)).slice(0, KILLS_A_RACE)
  for (const point of chosen) {
    await killMoveAt(works, tally, newPair(), point)
    tally.show('move')
  }
}

/** Every point at which a move can be killed. */
export async function pointsOfMove(works: Works, pair: Pair): Promise<Point[]> {
  const log = join(works.newPath(), '..', 'trace')
  const { code, stderr } = await traceMove(pair, log)
  if (code !== 0) throw new Violation(`move ended with ${code}: ${stderr}`)
  return points(readCalls(readFileSync(log, 'utf8')), (call) =>
    [pair.source, pair.target].some((path) => touches(call, path)),
  )
}

const traceMove = (pair: Pair, log: string, injection?: Injection) =>
  run(moveLine(pair, MOVED), { under: traced(log, injection), env: { UV_THREADPOOL_SIZE: '1' } })

/**
 * Kills a move, runs it again, and hands out what both directories have.
 * @throws {Violation}
 */
export async function killMoveAt(works: Works, tally: Tally, pair: Pair, point: Point): Promise<void> {
  const { syscall, when } = point
  const had = look(pair.source).unused
  const first = await traceMove(pair, '/dev/null', { syscall, when, effect: 'signal=SIGKILL' })
  tally.add(first.signal === 'SIGKILL' ? 'kills of a move' : 'moves that ended before the kill')
  const problems: string[] = []
  const printed: string[] = []
  const next = async (directory: string, count: number) => {
    const { stdout } = await works.next(directory, '-n', String(count))
    printed.push(...printedIn(stdout))
  }
  // A person calls again only what has not said that it was done.
  if (works.random.chance(0.5)) for (const each of [pair.source, pair.target]) await next(each, 1)
  if (!isDone(first)) {
    const again = await run(moveLine(pair, MOVED))
    if (!isDone(again)) problems.push(`move again ended with ${again.code}: ${again.stderr}`)
  }
  const [source, target] = [look(pair.source), look(pair.target)]
  const moved = new Set([...target.unused, ...target.used])
  if (moved.size !== MOVED) problems.push(`${moved.size} moved, not ${MOVED}`)
  const both = [...target.unused].filter((each) => source.unused.has(each))
  if (both.length > 0) problems.push(`unused in both: ${both.join(', ')}`)
  await next(pair.source, source.unused.size)
  await next(pair.target, target.unused.size)
  problems.push(...wrong(printed, [...had]))
  if (problems.length > 0) {
    const where = `see ${pair.source} and ${pair.target}`
    throw new Violation(`move, killed at ${syscall} ${when}: ${problems.join('; ')}\n${where}`)
  }
  for (const each of [pair.source, pair.target]) rmSync(join(each, '..'), { recursive: true })
}

const isDone = ({ code, stderr }: Run) => code === 0 || / moved to /.test(stderr)

function wrong(printed: readonly string[], wanted: readonly string[]): string[] {
  const twice = printed.filter((iccid, at) => printed.indexOf(iccid) !== at)
  const lost = wanted.filter((iccid) => !printed.includes(iccid))
  return [
    ...(twice.length > 0 ? [`printed twice: ${twice.join(', ')}`] : []),
    ...(lost.length > 0 ? [`lost: ${lost.join(', ')}`] : []),
  ]
}

/**
 * Two moves at once, again and again, beside stations in both directories and a fetch.
 * @throws {Violation}
 */
async function raceOnce(works: Works, tally: Tally, pair: Pair): Promise<void> {
  const { random } = works
  const { source, target } = pair
  const before = works.service.delivered.size
  await works.fetch(source, IN_A_RACE)
  const printed: string[] = []
  const problems: string[] = []
  let killed = 0
  let isOver = false
  const finish = async (started: Started, isChosen: boolean) => {
    if (isChosen) setTimeout(started.signal, random.whole(0, LATEST_KILL_MS), 'SIGKILL')
    const ended = await started.ended
    printed.push(...printedIn(ended.stdout))
    if (ended.signal === 'SIGKILL') killed++
    else if (ended.code !== 0 && ended.code !== 3) problems.push(`ended with ${ended.code}: ${ended.stderr}`)
    return ended
  }
  const station = async (directory: string) => {
    while (!isOver) await finish(works.startNext(directory), false)
  }
  const moving = async () => {
    for (let turn = 0; turn < 3; turn++)
      await finish(start(moveLine(pair, MOVED_IN_A_RACE)), random.chance(0.7))
    await finish(start(moveLine(pair, 1)), false)
  }
  const fetching = async () => {
    while (!isOver) await finish(works.startFetch(source, random.whole(1, 5)), random.chance(0.3))
  }
  mkdirSync(target, { mode: 0o700 })
  const others = [source, target].flatMap((each) => Array.from({ length: STATIONS }, () => station(each)))
  others.push(fetching())
  await Promise.all([moving(), moving()])
  isOver = true
  await Promise.all(others)
  await sleep(random.whole(0, 50))
  await finish(start(['move', '--all', '-i', source, '-o', target]), false)
  for (const each of [source, target])
    await finish(works.startNext(each, '-n', String(Math.max(1, look(each).unused.size))), false)
  // What a killed fetch had not put aside is lost to everybody.
  const seen = new Set([source, target].flatMap((each) => [...look(each).used]))
  problems.push(
    ...wrong(
      printed,
      works.deliveredSince(before).filter((iccid) => seen.has(iccid)),
    ),
  )
  tally.add('kills of a move in a race', killed)
  tally.add('races of moves')
  if (problems.length > 0)
    throw new Violation(`moves at once: ${[...new Set(problems)].join('; ')}\nsee ${source} and ${target}`)
  for (const each of [source, target]) rmSync(join(each, '..'), { recursive: true })
}
