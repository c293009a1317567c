/**
 * Schedules of which a part is left open: with `?` in the place of a number of steps, a text stands for the schedules
 * with all numbers, up to the end of the call. So it stays what it is when the program gets other steps.
 *
 *     links fresh/3 move+move2: A?$ B A
 */
import { readFileSync } from 'node:fs'
import type { Call } from './engine.ts'
import { CHANGES, conflictsAny, looksOf, pointsOf } from './pairs.ts'
import { run } from './run.ts'
import { format, parse, type Schedule } from './text.ts'
import { type GoesOn, mine, type Outcome, type Share, type Trial, type Trials } from './trial.ts'

/** What each call touches, in all schedules of a text. */
type All = ReadonlyMap<number, ReadonlySet<string>>

/**
 * Runs the schedules of a text, without those that are the same as one before: a pause one step later is, if the step
 * has nothing to do with what the others do, and a kill after a step that changes nothing.
 * @returns what each call touches in them
 * @throws {Error} where it is none
 */
export async function sweep(text: string, trial: Trial): Promise<All> {
  const schedule = parse(text.replaceAll('?', ''))
  const [first, ...others] = openIn(text)
  if (first === undefined) return touchedIn(await trial(schedule))
  const all = new Map<number, Set<string>>()
  const segment = schedule.segments[first]
  const goesOn = schedule.segments[first + 1]?.call === segment?.call
  let theirs: string[] | undefined
  for (const { points, isSame, touched } of await stepsAt(schedule, first)) {
    if (theirs !== undefined && isSame && (goesOn || !conflictsAny(touched, [theirs]))) continue
    const segments = schedule.segments.map((each, at) => (at === first ? { ...each, points } : each))
    const found = await sweep(opened({ ...schedule, segments }, others), trial)
    for (const [call, keys] of found) all.set(call, new Set([...(all.get(call) ?? []), ...keys]))
    theirs = [...found].flatMap(([call, keys]) => (call === segment?.call ? [] : [...keys]))
  }
  return all
}

/**
 * Those that have found a mistake: each with what it does and what came of it, or else what all of its section do. Of the
 * long ones, there are too many for `npm test`.
 */
export function known() {
  const text = readFileSync(new URL('../../../test/schedule/schedules.txt', import.meta.url), 'utf8')
  return text.split('\n## ').flatMap((section) => {
    const [title = '', ...cases] = section.split('\n')
    let about = ''
    return cases.flatMap((line) => {
      if (line.startsWith('#')) about += line.slice(1)
      if (!/^[a-z]/.test(line)) return []
      const found = { schedule: line, about: about.trim() || title, isLong: title.includes('too many') }
      about = ''
      return found
    })
  })
}

/** Runs those that have found a mistake. */
export async function sweeps(trials: Trials, share: Share, only: RegExp, goesOn: GoesOn): Promise<void> {
  for (const { schedule } of mine(known(), share)) {
    if (!goesOn()) return
    if (only.test(schedule)) await sweep(schedule, trials.trial(`sweeps ${schedule}`))
  }
}

const touchedIn = ({ world }: Outcome): All =>
  new Map(world.calls.map(({ log }, at) => [at, new Set(log.flatMap(({ touched }) => touched))]))

/** The words before the first segment: the kind, the start and the calls. */
const SEGMENTS_AT = 3

const opened = (schedule: Schedule, open: readonly number[]) =>
  format(schedule)
    .split(' ')
    .map((part, at) => (open.includes(at - SEGMENTS_AT) ? part.replace(/^[A-Z]/, '$&?') : part))
    .join(' ')

const openIn = (text: string) =>
  text
    .trim()
    .split(/\s+/)
    .slice(SEGMENTS_AT)
    .flatMap((part, at) => (part.includes('?') ? [at] : []))

interface Step {
  /** How many steps the segment has up to there. */
  readonly points: number
  /** Whether it makes no difference for the call itself that it ends here and not one step before. */
  readonly isSame: boolean
  /** What the last step touches. */
  readonly touched: readonly string[]
}

/** After which steps of a segment it may make a difference what happens there. */
async function stepsAt(schedule: Schedule, at: number): Promise<Step[]> {
  const segment = schedule.segments[at]
  if (segment === undefined) return []
  let before = 0
  let seen = 0
  const segments = [...schedule.segments.slice(0, at), { call: segment.call }]
  const world = await run(
    { ...schedule, segments },
    {
      segment(_segment, call) {
        if (seen++ === at) before = call.points
      },
    },
  )
  const call = world.calls[segment.call] as Call
  const looks = looksOf(call)
  const { event = '' } = segment
  const touches = pointsOf(call).slice(before)
  const names = call.log.filter(({ isPoint }) => isPoint).slice(before)
  return names.flatMap(({ name }, step) => {
    const points = step + 1
    const touched = touches[step] ?? []
    const isChange = touched.some((each) => each.startsWith('>'))
    if (event.startsWith('~') && !(isChange && CHANGES.test(name))) return []
    if (event === '!' && !isChange && name !== 'print' && step > 0) return []
    const isSame = event === '' || (event.startsWith('$') && !looks.has(before + step))
    return [{ points, isSame, touched }]
  })
}
