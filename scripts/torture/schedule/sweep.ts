/**
 * Schedules of which a part is left open: with `?` in the place of a number of steps, a text stands for the schedules
 * with all numbers, up to the end of the call. So it stays what it is when the program gets other steps.
 *
 *     links fresh/3 move+move2: A?$ B A
 */
import { CHANGES } from './faults.ts'
import { run } from './run.ts'
import { format, parse, type Schedule } from './text.ts'
import type { Trial } from './trial.ts'

export const isSweep = (text: string) => text.includes('?')

/**
 * Runs all schedules of a text.
 * @throws {Error} where it is none
 */
export async function sweep(text: string, trial: Trial): Promise<void> {
  const open = openIn(text)
  const schedule = parse(text.replaceAll('?', ''))
  const [first, ...others] = open
  if (first === undefined) {
    await trial(schedule)
    return
  }
  for (const points of await stepsAt(schedule, first)) {
    const { segments } = schedule
    const fixed = segments.map((each, at) => (at === first ? { ...each, points } : each))
    let next = format({ ...schedule, segments: fixed }).split(' ')
    next = next.map((part, at) => (others.includes(at - SEGMENTS_AT) ? part.replace(/^[A-Z]/, '$&?') : part))
    await sweep(next.join(' '), trial)
  }
}

/** The words before the first segment: the kind, the start and the calls. */
const SEGMENTS_AT = 3

const openIn = (text: string) =>
  text
    .trim()
    .split(/\s+/)
    .slice(SEGMENTS_AT)
    .flatMap((part, at) => (part.includes('?') ? [at] : []))

/** After how many steps of a segment it makes a difference what happens there. */
async function stepsAt(schedule: Schedule, at: number): Promise<number[]> {
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
  const steps = world.calls[segment.call]?.log.filter(({ isPoint }) => isPoint).slice(before) ?? []
  const isTold = segment.fault?.how === 'told'
  return steps.flatMap(({ name }, step) => (isTold && !CHANGES.test(name) ? [] : [step + 1]))
}
