/** Kills `move` at a system call, pulls its disks out, and runs the same command again. */
import type { Image } from '../image.ts'
import { run } from '../program.ts'
import { type Tally, Violation } from '../tally.ts'
import type { Point } from '../trace.ts'
import type { Works } from '../works.ts'
import { again, INTERLUDES, type Interlude } from './interlude.ts'
import { checkEnd, checkPlaces, type Trial, trialOf } from './judge.ts'
import { imagesOf, kindOf, MOVED, moveLine, type Pair, removePair, saidDone, tracedMove } from './pair.ts'

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

const at = ({ syscall, when }: Point) => ({ syscall, when })

const whichOf = ({ disks: { from, to } }: Pair, image: Image) =>
  from === to ? '' : from.image === image ? ' with the source' : ' with the target'

/** What the fixed tests do. */
export const plain = (point: Point): Blow => ({ point, pulled: [], interlude: again })
