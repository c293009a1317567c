/**
 * All schedules of two calls with one fault and at most one change away from a call that could go on, before or after
 * the fault: a kill after each step that changes something, a power cut after each that changes or flushes, each step
 * refused, each step that changes something done and reported as an error, the stick pulled out. Changes between calls that make no
 * difference are left out, as in pairs.ts.
 */
import type { Entry } from './call.ts'
import { callOf, conflictsAny, pointsOf, type Touched } from './pairs.ts'
import type { Schedule, Segment } from './text.ts'
import type { Outcome, Trial } from './trial.ts'

type Base = Omit<Schedule, 'segments'>

/** What a failing disk says to each kind of step. */
const REFUSALS: [step: RegExp, codes: readonly string[]][] = [
  [/^open (wx|w|a|r\+)/, ['EIO', 'EACCES']],
  [/^(rename|unlink|link)/, ['EIO', 'EACCES', 'EBUSY']],
  [/^(write|flush|mkdir)/, ['EIO', 'ENOSPC']],
  [/^(open|read|list|stat|rmdir|chmod|truncate|print)/, ['EIO']],
]

export const CHANGES = /^(open (wx|w)|rename|unlink|link|write|mkdir|rmdir|truncate)/
const SHARES = [0, 0.5, 1]

type Fault = Omit<Segment, 'call' | 'points'>

/** @param hasCuts whether power cuts are wanted too */
export async function allFaults(base: Base, trial: Trial, hasCuts: boolean): Promise<void> {
  const run = (...segments: Segment[]) => trial({ ...base, segments })
  for (const first of base.calls[0] === base.calls[1] ? [0] : [0, 1]) {
    const other = 1 - first
    const alone = stepsOf(await run({ call: first }), first)
    for (const [at, entry] of alone.entries()) {
      for (const fault of faultsAt(entry, hasCuts)) {
        const faulty = { call: first, points: at + 1, ...fault }
        if (fault.fault === undefined) await run(faulty)
        else await changesAfter(faulty, other, run)
      }
    }
    await changesBefore(first, alone.length, run, hasCuts)
  }
}

type Run = (...segments: Segment[]) => Promise<Outcome>

/** The faulty call goes on for a while, then the other one runs to its end. */
async function changesAfter(faulty: Segment, other: number, run: Run): Promise<void> {
  const { call, points = 0 } = faulty
  const rest = pointsOf(callOf(await run(faulty, { call }), call)).slice(points)
  let its: readonly Touched[] | undefined
  for (let more = 0; more < rest.length; more++) {
    // The same as the one before.
    if (its !== undefined && !conflictsAny(rest[more - 1], its)) continue
    const some = more === 0 ? [] : [{ call, points: more }]
    its = pointsOf(callOf(await run(faulty, ...some, { call: other }, { call }), other))
  }
}

/** The first call is interrupted by the other one; the fault hits that one, or the first one when it goes on. */
async function changesBefore(first: number, length: number, run: Run, hasCuts: boolean): Promise<void> {
  const other = 1 - first
  let its: readonly Touched[] | undefined
  let before: readonly Touched[] = []
  for (let points = 1; points < length; points++) {
    if (its !== undefined && !conflictsAny(before[points - 1], its)) continue
    const part = { call: first, points }
    const outcome = await run(part, { call: other }, { call: first })
    before = pointsOf(callOf(outcome, first))
    its = pointsOf(callOf(outcome, other))
    for (const [at, entry] of stepsOf(outcome, other).entries())
      for (const fault of faultsAt(entry, hasCuts))
        await run(
          part,
          { call: other, points: at + 1, ...fault },
          ...after(fault, other),
          ...after(fault, first),
        )
    for (const [at, entry] of stepsOf(outcome, first).slice(points).entries())
      for (const fault of faultsAt(entry, hasCuts))
        await run(part, { call: other }, { call: first, points: at + 1, ...fault }, ...after(fault, first))
  }
}

/** Nothing comes after a power cut. */
const after = ({ cut, isPull }: Fault, call: number): Segment[] =>
  cut === undefined && !isPull ? [{ call }] : []

const stepsOf = (outcome: Outcome, at: number): Entry[] =>
  callOf(outcome, at).log.filter(({ isPoint }) => isPoint)

function faultsAt({ name, path, touched }: Entry, hasCuts: boolean): Fault[] {
  const isChange = CHANGES.test(name) && touched.some((each) => each.startsWith('>'))
  const codes = REFUSALS.find(([step]) => step.test(name))?.[1] ?? []
  const found: Fault[] = codes.map((code) => ({ fault: { how: 'refused', code } }))
  if (isChange) found.push({ fault: { how: 'told', code: 'EIO' } })
  if (isChange || name === 'print') found.push({ isKill: true })
  if (hasCuts && (isChange || name === 'flush' || name === 'print'))
    found.push(...SHARES.map((cut) => ({ cut })))
  if (hasCuts && path.startsWith('/stick/') && (isChange || name === 'flush')) found.push({ isPull: true })
  return found
}
