/**
 * All schedules of two calls with one fault and at most one change away from a call that could go on: a kill after each
 * step that changes something, a power cut after each that changes or flushes, each step refused, each step that
 * changes something done and reported as an error.
 */
import type { Call, Entry } from './engine.ts'
import { conflicts, pointsOf, sequenceOf } from './pairs.ts'
import type { Schedule, Segment } from './text.ts'
import type { Outcome, Trial } from './trial.ts'

/** What a failing disk says to each kind of step. */
const REFUSALS: [step: RegExp, codes: readonly string[]][] = [
  [/^open (wx|w|a|r\+)/, ['EIO', 'EACCES']],
  [/^open/, ['EIO']],
  [/^(rename|unlink|link)/, ['EIO', 'EACCES', 'EBUSY']],
  [/^(write|flush|mkdir)/, ['EIO', 'ENOSPC']],
  [/^(read|list|stat|rmdir|chmod|truncate|print)/, ['EIO']],
]

const CHANGES = /^(open (wx|w)|rename|unlink|link|write|mkdir|rmdir|truncate)/
const SHARES = [0, 0.5, 1]

/** @param hasCuts whether power cuts are wanted too */
export async function allFaults(
  base: Omit<Schedule, 'segments'>,
  trial: Trial,
  hasCuts: boolean,
): Promise<void> {
  const known = new Set<string>()
  for (const order of await orders(base, trial)) {
    const outcome = await trial({ ...base, segments: order })
    const sequence = sequenceOf(outcome, base.calls.length)
    for (const [at, { call, entry }] of sequence.entries()) {
      for (const [last, isEnd] of faultsAt(entry, hasCuts)) {
        const segments = withFault(sequence, at, { call, ...last }, isEnd)
        const key = JSON.stringify(segments)
        if (known.has(key)) continue
        known.add(key)
        await trial({ ...base, segments })
      }
    }
  }
}

/** Those without a fault: each call first, and after each of its steps the other one, where that makes a difference. */
async function orders(base: Omit<Schedule, 'segments'>, trial: Trial): Promise<Segment[][]> {
  const found: Segment[][] = []
  const isMirrored = base.calls[0] === base.calls[1]
  for (const first of isMirrored ? [0] : [0, 1]) {
    const whole = [{ call: first }, { call: 1 - first }]
    found.push(whole)
    const alone = pointsOf(callOf(await trial({ ...base, segments: whole }), first))
    for (let i = 1; i < alone.length; i++) {
      const segments = [{ call: first, points: i }, { call: 1 - first }, { call: first }]
      const its = pointsOf(callOf(await trial({ ...base, segments }), 1 - first))
      if (its.some((point) => conflicts(alone[i] ?? [], point))) found.push(segments)
    }
  }
  return found
}

const callOf = ({ world }: Outcome, at: number): Call => world.calls[at] as Call

/** @returns the ends of a segment, and whether nothing comes after them */
function faultsAt({ name, touched }: Entry, hasCuts: boolean): [Omit<Segment, 'call'>, boolean][] {
  const isChange = CHANGES.test(name) && touched.some((each) => each.startsWith('>'))
  const found: [Omit<Segment, 'call'>, boolean][] = []
  for (const code of REFUSALS.find(([step]) => step.test(name))?.[1] ?? [])
    found.push([{ fault: { how: 'refused', code } }, false])
  if (isChange) found.push([{ fault: { how: 'told', code: 'EIO' } }, false], [{ isKill: true }, false])
  if (hasCuts && (isChange || name === 'flush' || name === 'print'))
    for (const cut of SHARES) found.push([{ cut }, true])
  return found
}

/** The sequence as segments, of which the one that ends with the step at `at` has a fault. */
function withFault(
  sequence: readonly { call: number }[],
  at: number,
  last: Segment,
  isEnd: boolean,
): Segment[] {
  const segments: Segment[] = []
  let from = 0
  for (let to = 1; to <= sequence.length; to++) {
    const { call } = sequence[from] as { call: number }
    if (to <= at || to === at + 1) {
      if (to !== at + 1 && sequence[to]?.call === call) continue
      const points = to - from
      segments.push(to === at + 1 ? { ...last, points } : { call, points })
      from = to
      if (to === at + 1 && isEnd) return segments
      continue
    }
    if (sequence[to]?.call === call) continue
    // After a fault the call may make other steps: it goes to its end where it did so, else as far as it did.
    const isLast = !sequence.slice(to).some((each) => each.call === call)
    segments.push(isLast ? { call } : { call, points: to - from })
    from = to
  }
  return segments
}
