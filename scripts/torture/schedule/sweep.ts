/**
 * Schedules of which a part is left open: with `?` in the place of a number of steps, a text stands for the schedules
 * with all numbers, up to the end of the call. So it stays what it is when the program gets other steps.
 *
 *     ext4 fresh/3 move+move2: A?$ B A
 */
import { type Call, type Entry, findsFile } from './engine.ts'
import { KINDS } from './kinds.ts'
import { run } from './run.ts'
import type { Schedule, Segment } from './text.ts'
import type { Outcome, Trial } from './trial.ts'

/** What each call touches, in all schedules of a family, and after how many steps of all calls it did so last. */
type All = Map<number, Map<string, number>>

/**
 * Runs the schedules of a family, without those that are the same as one before: a pause one step later is, if the step
 * has nothing to do with what the others do, and a kill after a step that changes nothing. Two steps belong together if
 * one changes a name or a file that the other one reads or changes.
 * @returns what each call touches in them
 */
export async function sweep(family: Schedule, trial: Trial, goesOn = () => true): Promise<All> {
  const { segments } = family
  const first = segments.findIndex(({ points }) => points === '?')
  const segment = segments[first]
  if (segment === undefined) return touchedIn(await trial(family))
  const { steps, whole } = await stepsAt(family, segment, first)
  // Also what the call would touch if nothing happened to it: where the others are by then decides that.
  const all: All = new Map([[segment.call, whole]])
  const isSameCall = segments[first + 1]?.call === segment.call
  const hasCut = segments.some(({ event = '' }) => CUT.test(event))
  let theirs: string[] | undefined
  for (const { points, at, isSame, touched } of steps) {
    if (theirs !== undefined && isSame && (isSameCall || !conflicts(touched, theirs, hasCut))) continue
    if (!goesOn()) break
    const own = { ...family, segments: segments.with(first, { ...segment, points }) }
    const found = await sweep(own, trial, goesOn)
    theirs = []
    for (const [call, keys] of found) {
      const known = all.get(call) ?? new Map<string, number>()
      all.set(call, known)
      for (const [key, last] of keys) {
        known.set(key, Math.max(last, known.get(key) ?? 0))
        if (call !== segment.call && last >= at) theirs.push(key)
      }
    }
  }
  return all
}

const touchedIn = ({ world }: Outcome): All =>
  new Map(
    world.calls.map(({ log }, call) => [
      call,
      new Map(log.flatMap(({ touched, at }) => touched.map((key) => [key, at] as const))),
    ]),
  )

interface Step {
  /** How many steps the segment has up to there. */
  readonly points: number
  /** How many steps all calls have made by then. */
  readonly at: number
  /** Whether it makes no difference for the call itself that it ends here and not one step before. */
  readonly isSame: boolean
  /** What the last step touches. */
  readonly touched: readonly string[]
}

/**
 * After which steps of a segment it may make a difference what happens there.
 * @returns also what its call touches if it goes on to its end
 */
async function stepsAt(family: Schedule, { call: which, event = '' }: Segment, at: number) {
  let before = 0
  let seen = 0
  const segments = [...family.segments.slice(0, at), { call: which }]
  const world = await run(
    { ...family, segments },
    {
      segment(_segment, call) {
        if (seen++ === at) before = call.points
      },
    },
  )
  const call = world.calls[which] as Call
  const touches = pointsOf(call).slice(before)
  const entries = call.log.filter(({ isPoint }) => isPoint).slice(before)
  const kind = KINDS.get(family.kind)
  const steps = entries.flatMap((entry, step): Step[] => {
    if (step > 0 && !matters(event, entry)) return []
    const next = entries[step + 1]
    // The next step has begun, and goes on with what it has found.
    const hasBegun = event === '' && kind !== undefined && next !== undefined && findsFile(kind, next)
    const isSame = (event === '' && !hasBegun) || (event.startsWith('$') && !call.asked.has(before + step))
    return [{ points: step + 1, at: entry.at, isSame, touched: touches[step] ?? [] }]
  })
  const whole = new Map(call.log.flatMap(({ touched, at }) => touched.map((key) => [key, at] as const)))
  return { steps, whole }
}

/** The power is cut, the stick is pulled out, or a backup is made. */
const CUT = /^[\^%&]/

const CHANGES = /^(open (wx|w)|rename|unlink|write|mkdir|rmdir|truncate|receipt)/

/** Whether it makes a difference that this happens after a step, and not after the one before. */
function matters(event: string, { name, touched }: Entry): boolean {
  const isChange = CHANGES.test(name) && touched.some((each) => each.startsWith('>'))
  if (event.startsWith('~')) return isChange
  if (event === '!' || event === '&') return isChange || name === 'print'
  return !event.startsWith('^') || isChange || name === 'flush' || name === 'print'
}

/** What each point of a call touches, together with the steps after it that are no points. */
function pointsOf({ log }: Call): string[][] {
  const points: string[][] = []
  for (const { isPoint, touched } of log) {
    if (isPoint) points.push([...touched])
    else points.at(-1)?.push(...touched)
  }
  return points
}

/** Two names in one directory can change in any order, unless the power is cut after that. */
const conflicts = (one: readonly string[], other: readonly string[], hasCut: boolean) =>
  one.some((each) =>
    other.some(
      (its) =>
        each.slice(1) === its.slice(1) &&
        (each[0] !== its[0] || (each[0] === '>' && (hasCut || !each.endsWith('/')))),
    ),
  )
