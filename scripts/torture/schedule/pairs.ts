/**
 * All schedules of two calls with at most two changes away from a call that could go on. Of schedules that differ only
 * in the order of neighbouring steps that have nothing to do with each other, one is run: two steps belong together if
 * one changes a name or a file that the other one reads or changes.
 */
import type { Call, Entry } from './engine.ts'
import type { Schedule, Segment } from './text.ts'
import type { Outcome, Trial } from './trial.ts'

/** Longer than any claim takes. At each first change, it is tried too. */
const NAP_MS = 70_000

type Touched = readonly string[]

/** What each point of a call touches, together with the steps after it that are no points. */
export function pointsOf({ log }: Call): Touched[] {
  const points: string[][] = []
  for (const { isPoint, touched } of log) {
    if (isPoint) points.push([...touched])
    else points.at(-1)?.push(...touched)
  }
  return points
}

export function conflicts(one: Touched, other: Touched): boolean {
  return one.some((each) =>
    other.some((its) => (each[0] === '>' || its[0] === '>') && each.slice(1) === its.slice(1)),
  )
}

const conflictsAny = (one: Touched | undefined, others: readonly Touched[]) =>
  one !== undefined && others.some((other) => conflicts(one, other))

/** Runs them all. */
export async function allOfPair(base: Omit<Schedule, 'segments'>, trial: Trial): Promise<void> {
  const isMirrored = base.calls[0] === base.calls[1]
  for (const first of isMirrored ? [0] : [0, 1]) await allFrom(base, first, trial)
}

async function allFrom(base: Omit<Schedule, 'segments'>, first: number, trial: Trial): Promise<void> {
  const other = 1 - first
  const run = (...segments: Segment[]): Promise<Outcome> => trial({ ...base, segments })
  const alone = pointsOf(callOf(await run({ call: first }), first))
  for (let i = 1; i < alone.length; i++) {
    const outcome = await run({ call: first, points: i }, { call: other }, { call: first })
    let rest = pointsOf(callOf(outcome, first)).slice(i)
    const its = pointsOf(callOf(outcome, other))
    const from = its.findIndex((point) => conflicts(alone[i] ?? [], point)) + 1
    if (from === 0) continue
    await run({ call: first, points: i, napMs: NAP_MS }, { call: other }, { call: first })
    for (let j = from; j < its.length; j++) {
      // The same as the one before, or as the last one of these.
      if (j > from && !conflictsAny(its[j - 1], rest)) continue
      const segments = [{ call: first, points: i }, { call: other, points: j }, { call: first }]
      rest = pointsOf(callOf(await run(...segments), first)).slice(i)
    }
  }
}

const callOf = ({ world }: Outcome, at: number): Call => world.calls[at] as Call

/** Who made the points of a schedule, in their order. */
export function sequenceOf({ world }: Outcome, count: number): { call: number; entry: Entry }[] {
  const all = world.calls
    .slice(0, count)
    .flatMap((call, at) => call.log.flatMap((entry) => (entry.isPoint ? [{ call: at, entry }] : [])))
  return all.sort((one, other) => one.entry.at - other.entry.at)
}
