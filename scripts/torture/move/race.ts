/** Two moves at once, again and again, beside stations in both directories and a fetch; some of them are killed. */
import { mkdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { printedIn, type Started, start } from '../program.ts'
import { look } from '../sight.ts'
import { type Tally, Violation } from '../tally.ts'
import type { Works } from '../works.ts'
import { wrong, wrongReceipts } from './judge.ts'
import { kindOf, moveLine, type Pair, removePair } from './pair.ts'

const PROFILES = 150
const MOVED = 30
const STATIONS = 2
const LATEST_KILL_MS = 600

/** @throws {Violation} */
export async function raceMoves(works: Works, tally: Tally, pair: Pair): Promise<void> {
  const { random } = works
  const { source, target } = pair
  const before = works.service.delivered.size
  await works.fetch(source, PROFILES)
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
  }
  const station = async (directory: string) => {
    while (!isOver) await finish(works.startNext(directory), false)
  }
  const moving = async () => {
    for (let turn = 0; turn < 3; turn++) await finish(start(moveLine(pair, MOVED)), random.chance(0.7))
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
  await finish(start(['move', '--all', '-i', source, '-o', target, '--receipt', pair.receipt]), false)
  for (const each of [source, target])
    await finish(works.startNext(each, '-n', String(Math.max(1, look(each).unused.size))), false)
  const there = look(target).used
  // What a killed fetch had not put aside is lost to everybody.
  const seen = new Set([...look(source).used, ...there])
  const wanted = works.deliveredSince(before).filter((iccid) => seen.has(iccid))
  problems.push(...wrong(printed, wanted), ...wrongReceipts(pair.receipt, [...there], false))
  tally.add('kills in a race of moves', killed)
  tally.add(`races of two moves ${kindOf(pair)}`)
  if (problems.length > 0)
    throw new Violation(`moves at once: ${[...new Set(problems)].join('; ')}\nsee ${source} and ${target}`)
  removePair(pair)
}
