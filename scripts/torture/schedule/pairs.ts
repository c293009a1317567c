/**
 * All schedules of two calls with few changes away from a call that could go on. Of schedules that differ only in the
 * order of neighbouring steps that have nothing to do with each other, one is run: two steps belong together if one
 * changes a name or a file that the other one reads or changes.
 */
import type { Call, Entry } from './engine.ts'
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

/** All with at most two changes and no fault. */
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
      // The other call is interrupted, too.
      await atEach(pointsOf(callOf(outcome, other)), from + 1, async (its) => {
        const again = await run({ call: first, points }, { call: other, points: its }, { call: first })
        return pointsOf(callOf(again, first)).slice(points)
      })
    }
  }
}

/**
 * Interrupts a call after each of its points, but not where that is the same as one point earlier.
 * @param points what each of them touches
 * @param interrupt returns what the others do then
 */
async function atEach(
  points: readonly Touched[],
  from: number,
  interrupt: (at: number) => Promise<readonly Touched[]>,
): Promise<void> {
  let theirs: readonly Touched[] | undefined
  for (let at = from; at < points.length; at++)
    if (theirs === undefined || conflictsAny(points[at - 1], theirs)) theirs = await interrupt(at)
}

/** What a failing disk says to each kind of step. */
const REFUSALS: [step: RegExp, codes: readonly string[]][] = [
  [/^open (wx|w|a|r\+)/, ['EIO', 'EACCES']],
  [/^(rename|unlink|link)/, ['EIO', 'EACCES', 'EBUSY']],
  [/^(write|flush|mkdir)/, ['EIO', 'ENOSPC']],
  [/^(open|read|list|stat|rmdir|chmod|truncate|print)/, ['EIO']],
]

export const CHANGES = /^(open (wx|w)|rename|unlink|link|write|mkdir|rmdir|truncate)/

/** The power is cut, or the stick is pulled out. */
const CUT = /^[\^%]/

/** What a client of NFS is told of what it has done if the reply was lost and it asked again. */
const LOST: [step: RegExp, code: string][] = [
  [/^(rename|unlink|rmdir)/, 'ENOENT'],
  [/^(link|mkdir|open wx)/, 'EEXIST'],
]

/**
 * All schedules of two calls with one fault and at most one change away from a call that could go on, before or after
 * the fault: a kill after each step that changes something, a power cut after each that changes or flushes, each step
 * refused, each step that changes something done and reported as an error, the disk dead from a step on, a reply lost,
 * a signal, the stick pulled out.
 */
export async function allFaults(base: Base, trial: Trial): Promise<void> {
  const run = (...segments: Segment[]) => trial({ ...base, segments })
  for (const first of base.calls[0] === base.calls[1] ? [0] : [0, 1]) {
    const other = 1 - first
    const outcome = await run({ call: first })
    const alone = stepsOf(outcome, first)
    for (const { points, event } of faultsOf(outcome, first, base.kind)) {
      const faulty = { call: first, points, event }
      if (/^[!^%]/.test(event)) await run(faulty)
      else {
        // The faulty call goes on for a while, then the other one runs to its end.
        const rest = pointsOf(callOf(await run(faulty, { call: first }), first)).slice(points)
        await atEach(rest, 0, async (more) => {
          const some = more === 0 ? [] : [{ call: first, points: more }]
          const now = await run(faulty, ...some, { call: other }, { call: first })
          return pointsOf(callOf(now, other))
        })
      }
    }
    await changesBefore(first, alone.length, run, base.kind)
  }
}

type Run = (...segments: Segment[]) => Promise<Outcome>

/** The first call is interrupted by the other one; the fault hits that one, or the first one when it goes on. */
async function changesBefore(first: number, length: number, run: Run, kind: string): Promise<void> {
  const other = 1 - first
  let its: readonly Touched[] | undefined
  let before: readonly Touched[] = []
  /** What the other call does with each fault, and after how many steps of the first one. */
  const ran = new Map<string, { readonly points: number; readonly its: readonly Touched[] }>()
  for (let points = 1; points < length; points++) {
    if (its !== undefined && !conflictsAny(before[points - 1], its, true)) continue
    const part = { call: first, points }
    const outcome = await run(part, { call: other }, { call: first })
    before = pointsOf(callOf(outcome, first))
    its = pointsOf(callOf(outcome, other))
    for (const { points: at, event } of faultsOf(outcome, other, kind)) {
      const key = `${at}${event}`
      const last = ran.get(key)
      // What the first call has done since then has nothing to do with what the other one does in this case.
      if (
        last !== undefined &&
        !before.slice(last.points, points).some((each) => conflictsAny(each, last.its))
      )
        continue
      const faulty = { call: other, points: at, event }
      const now = await run(part, faulty, ...after(event, other), ...after(event, first))
      // After a power cut, the first call does not go on.
      if (!CUT.test(event)) ran.set(key, { points, its: pointsOf(callOf(now, other)) })
    }
    for (const { points: at, event } of faultsOf(outcome, first, kind))
      if (at > points) {
        const faulty = { call: first, points: at - points, event }
        await run(part, { call: other }, faulty, ...after(event, first))
      }
  }
}

/** What can go wrong in a call, and at which of its points. */
function* faultsOf(outcome: Outcome, at: number, kind: string): Generator<{ points: number; event: string }> {
  const looks = looksOf(callOf(outcome, at))
  for (const [index, entry] of stepsOf(outcome, at).entries()) {
    for (const event of faultsAt(entry, kind)) yield { points: index + 1, event }
    if (looks.has(index + 1)) yield { points: index + 1, event: '$' }
  }
}

/** Nothing comes after a power cut. */
const after = (event: string, call: number): Segment[] => (CUT.test(event) ? [] : [{ call }])

const stepsOf = (outcome: Outcome, at: number): Entry[] =>
  callOf(outcome, at).log.filter(({ isPoint }) => isPoint)

/** After how many points a call looks whether it is to stop. A signal is the same anywhere before. */
export function looksOf({ log, asked }: Call): ReadonlySet<number> {
  const found = new Set<number>()
  let points = 0
  for (const [index, { isPoint }] of log.entries()) {
    if (asked.has(index)) found.add(points)
    if (isPoint) points++
  }
  if (asked.has(log.length)) found.add(points)
  return found
}

/** @param kind of disk */
function faultsAt({ name, path, touched }: Entry, kind: string): string[] {
  const hasCuts = kind !== 'nolinks'
  const isChange = CHANGES.test(name) && touched.some((each) => each.startsWith('>'))
  const codes = REFUSALS.find(([step]) => step.test(name))?.[1] ?? []
  const found = codes.map((code) => `=${code}`)
  if (isChange) found.push('~EIO', '~EIO+')
  if (isChange || name === 'flush') found.push('=EIO+')
  const lost = LOST.find(([step]) => step.test(name))?.[1]
  if (isChange && lost !== undefined && kind !== 'fat') found.push(`~${lost}`)
  if (isChange || name === 'print') found.push('!')
  if (hasCuts && (isChange || name === 'flush' || name === 'print')) found.push('^0', '^0.5', '^1')
  if (hasCuts && path.startsWith('/stick/') && (isChange || name === 'flush')) found.push('%')
  return found
}

/** The first fault of two is one of a few: of the others, the call says so at once. */
const FIRST = /^(\$|~|=(EIO|EBUSY))/

/** And after it, the power does not fail too. */
const SECOND = /^(\$|~|=EIO|!)/

/** All schedules of one call with two faults, and then the same command again. */
export async function twoFaults(base: Base, trial: Trial): Promise<void> {
  const run = (...segments: Segment[]) => trial({ ...base, segments })
  const alone = await run({ call: 0 })
  for (const { points, event } of faultsOf(alone, 0, base.kind)) {
    if (!FIRST.test(event)) continue
    const first = { call: 0, points, event }
    const outcome = await run(first, { call: 0 }, { call: 1 })
    for (const { points: at, event: more } of faultsOf(outcome, 0, base.kind))
      if (at > points && SECOND.test(more))
        await run(first, { call: 0, points: at - points, event: more }, { call: 0 }, { call: 1 })
  }
}
