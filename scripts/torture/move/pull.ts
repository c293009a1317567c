/** Pulls a disk out while a move is at work on it: the move meets a broken file system, and says so. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Image } from '../image.ts'
import { run, start } from '../program.ts'
import type { Tally } from '../tally.ts'
import type { Works } from '../works.ts'
import { checkPlaces, trialOf } from './judge.ts'
import { end, finish } from './kill.ts'
import { imagesOf, kindOf, moveLine, type Pair, removePair, saidDone } from './pair.ts'

/** Of the time that a whole move takes: before the first one, the program only starts. */
const EARLIEST = 0.3
const LATEST = 1.2

/** Those that can be shut down under a move. */
export const breakable = (pair: Pair): Image[] =>
  imagesOf(pair).filter(({ cuts }) => cuts.includes('shutdown'))

/** @returns how long a move takes here, in ms */
export async function timeMove(pair: Pair): Promise<number> {
  const began = performance.now()
  await run(moveLine(pair))
  removePair(pair)
  return performance.now() - began
}

/**
 * @param took how long a move takes here, in ms
 * @throws {Violation}
 */
export async function pullUnderMove(works: Works, tally: Tally, pair: Pair, took: number): Promise<void> {
  const trial = trialOf(works, pair)
  for (const image of imagesOf(pair)) image.settle()
  const image = works.random.pick(breakable(pair))
  const first = start(moveLine(pair))
  await sleep(took * (EARLIEST + works.random.next() * (LATEST - EARLIEST)))
  image.shutDown()
  const ended = await first.ended
  image.unmount()
  image.mount()
  tally.add(`${image.kind} pulled out under a move ${kindOf(pair)}`)
  tally.add(`of these, ended with ${ended.code}`)
  await checkPlaces(trial)
  await finish(trial, saidDone(ended))
  end(trial, `${image.kind} pulled out`)
}
