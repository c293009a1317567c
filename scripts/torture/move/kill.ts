/** Kills `move` at a system call, or pauses it there, pulls its disks out, and runs the same command again. */
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Image } from '../image.ts'
import { run, start } from '../program.ts'
import { type Tally, Violation } from '../tally.ts'
import type { Point } from '../trace.ts'
import type { Works } from '../works.ts'
import { again, INTERLUDES, type Interlude } from './interlude.ts'
import { checkEnd, checkPlaces, type Trial, trialOf } from './judge.ts'
import { imagesOf, kindOf, MOVED, moveLine, type Pair, removePair, saidDone, tracedMove } from './pair.ts'

const POLL_MS = 20

export interface Blow {
  readonly point: Point
  /** Those of the pair's disks that are pulled out then: nothing of them is left but what was flushed. */
  readonly pulled: readonly Image[]
  readonly interlude: Interlude
}

export const anyBlow = ({ random }: Works, pair: Pair, point: Point): Blow => ({
  point,
  pulled: random.chance(0.5) ? imagesOf(pair).filter(() => random.chance(0.7)) : [],
  interlude: random.pick(INTERLUDES),
})

/**
 * Kills a move, runs it again, and hands out what all directories have.
 * @throws {Violation}
 */
export async function killMoveAt(works: Works, tally: Tally, pair: Pair, blow: Blow): Promise<void> {
  const { point, pulled, interlude } = blow
  const trial = trialOf(works, pair)
  for (const image of imagesOf(pair)) image.settle()
  const first = await run(moveLine(pair), tracedMove('/dev/null', { ...at(point), effect: 'signal=SIGKILL' }))
  const isKilled = first.signal === 'SIGKILL'
  tally.add(isKilled ? `kills of a move ${kindOf(pair)}` : 'moves that ended before the kill')
  for (const image of pulled) {
    image.pull()
    tally.add(`of these, pulled out ${image.kind}${whichOf(pair, image)}`)
  }
  await checkPlaces(trial)
  if (saidDone(first)) await finish(trial, true)
  else {
    const { what, isDone } = await interlude(trial)
    tally.add(`of these, ${what}`)
    await finish(trial, isDone)
  }
  end(
    trial,
    `killed at ${point.syscall} ${point.when}, pulled ${pulled.map(({ kind }) => kind)}, ${interlude.name}`,
  )
}

/**
 * Pauses a move; the same command ends it meanwhile, and what it moved goes on. Then the old one goes on.
 * @throws {Violation}
 */
export async function pauseMoveAt(works: Works, tally: Tally, pair: Pair, point: Point): Promise<void> {
  const trial = trialOf(works, pair)
  const log = works.newPath('trace')
  const first = start(moveLine(pair), tracedMove(log, { ...at(point), effect: 'signal=SIGSTOP' }))
  let hasEnded = false
  void first.ended.then(() => {
    hasEnded = true
  })
  while (!hasEnded && !isStopped(log)) await sleep(POLL_MS)
  const other = await run(moveLine(pair))
  for (const each of works.random.shuffled(
    INTERLUDES.filter(({ name }) => ['stations', 'onward'].includes(name)),
  ))
    await each(trial)
  tally.add(
    hasEnded ? 'moves that ended before the pause' : `old moves that go on after a chain ${kindOf(pair)}`,
  )
  first.signal('SIGCONT')
  // One that was paused for too long has been killed.
  const codes = [other, await first.ended].filter(({ hung }) => !hung).map(({ code }) => code)
  if (codes.some((code) => code !== 0 && code !== 3))
    trial.problems.push(`ended with ${codes}: ${other.stderr}`)
  const last = await run(['move', '--all', '-i', pair.source, '-o', pair.target, '--receipt', pair.receipt])
  if (last.code !== 0 && last.code !== 3)
    trial.problems.push(`the last move ended with ${last.code}: ${last.stderr}`)
  await checkEnd(trial)
  end(trial, `paused at ${point.syscall} ${point.when}`)
}

/** Runs the same command again where the first one has not said that it was done; then everything is handed out. */
export async function finish(trial: Trial, isDone: boolean): Promise<void> {
  if (!isDone) {
    const { code, stderr, ...rest } = await run(moveLine(trial.pair))
    if (!saidDone({ code, stderr, ...rest })) trial.problems.push(`move again ended with ${code}: ${stderr}`)
  }
  await checkEnd(trial, MOVED)
}

/** @throws {Violation} */
export function end({ problems, pair }: Trial, how: string): void {
  if (problems.length > 0)
    throw new Violation(
      `move ${kindOf(pair)}, ${how}: ${problems.join('; ')}\nsee ${pair.source} and ${pair.target}`,
    )
  removePair(pair)
}

const isStopped = (log: string) => existsSync(log) && readFileSync(log, 'utf8').includes('stopped by SIGSTOP')

const at = ({ syscall, when }: Point) => ({ syscall, when })

const whichOf = ({ disks: { from, to } }: Pair, image: Image) =>
  from === to ? '' : from.image === image ? ' with the source' : ' with the target'

/** What the fixed tests do. */
export const plain = (point: Point): Blow => ({ point, pulled: [], interlude: again })
