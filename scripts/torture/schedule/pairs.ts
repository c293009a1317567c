/**
 * All schedules of two calls with at most two changes away from a call that could go on. Of schedules that differ only
 * in the order of neighbouring steps that have nothing to do with each other, one is run: two steps belong together if
 * one changes a name or a file that the other one reads or changes.
 */
import type { Call } from './call.ts'
import type { Base, Segment } from './text.ts'
import type { Outcome, Trial } from './trial.ts'

/** Longer than any claim takes. At each first change, it is tried too. */
const NAP_MS = 70_000

export type Touched = readonly string[]

/** What each point of a call touches, together with the steps after it that are no points. */
export function pointsOf({ log }: Call): Touched[] {
  const points: string[][] = []
  for (const { isPoint, touched } of log) {
    if (isPoint) points.push([...touched])
    else points.at(-1)?.push(...touched)
  }
  return points
}

/** Two names in one directory can change in any order, unless the power is cut after that. */
function conflicts(one: Touched, other: Touched, hasCut: boolean): boolean {
  return one.some((each) =>
    other.some(
      (its) =>
        each.slice(1) === its.slice(1) &&
        (each[0] !== its[0] || (each[0] === '>' && (hasCut || !each.endsWith('/')))),
    ),
  )
}

export const conflictsAny = (one: Touched | undefined, others: readonly Touched[], hasCut = false) =>
  one !== undefined && others.some((other) => conflicts(one, other, hasCut))

export const callOf = ({ world }: Outcome, at: number): Call => world.calls[at] as Call

/** Runs them all. */
export async function allOfPair(base: Base, trial: Trial): Promise<void> {
  const run = (...segments: Segment[]) => trial({ ...base, segments })
  for (const first of base.calls[0] === base.calls[1] ? [0] : [0, 1]) {
    const other = 1 - first
    const alone = pointsOf(callOf(await run({ call: first }), first))
    for (let points = 1; points < alone.length; points++) {
      const outcome = await run({ call: first, points }, { call: other }, { call: first })
      // If the other one has nothing to do with the next step, all is the same one step later.
      const from = pointsOf(callOf(outcome, other)).findIndex((its) => conflictsAny(alone[points], [its]))
      if (from === -1) continue
      await run({ call: first, points, napMs: NAP_MS }, { call: other }, { call: first })
      await secondChanges(outcome, { call: first, points }, other, from + 1, run)
    }
  }
}

/** The other call is interrupted too, after `from` points at the earliest. */
async function secondChanges(
  outcome: Outcome,
  part: { call: number; points: number },
  other: number,
  from: number,
  run: (...segments: Segment[]) => Promise<Outcome>,
): Promise<void> {
  const its = pointsOf(callOf(outcome, other))
  let rest: readonly Touched[] | undefined
  for (let points = from; points < its.length; points++) {
    // The same as the one before.
    if (rest !== undefined && !conflictsAny(its[points - 1], rest)) continue
    const again = await run(part, { call: other, points }, { call: part.call })
    rest = pointsOf(callOf(again, part.call)).slice(part.points)
  }
}
