/**
 * A schedule as a short text: the kind of disk, the directory to begin with, the calls, then who makes how many steps.
 *
 *     nolinks hint/2 next+deviceD: A12 B7! A3=EIO B@70s A
 *
 * A12: the first call passes 12 points. A: it goes to its end. Then `!`: it is killed there. `=EIO`: the last of the
 * steps is refused. `~EIO`: it is done, and reported as an error. `+` after it: so is each later step of the call on
 * that disk. `$`: it is asked to stop by a signal; `$$`: by two, and the second one ends it unless it holds them back.
 * `^0`, `^.5`, `^1`: the power is cut, and that share of what is not flushed stays, `^0/1`: nothing
 * of one directory or file, all of the next one. `%`: the stick is pulled out, and
 * what is not flushed on it is lost. Calls that begin later are not affected. `@70s`: time passes (s, m or h). After all
 * of that, the living calls go to their ends.
 */
export interface Segment {
  /** Of the calls, which one. */
  readonly call: number
  /** Undefined: to its end. */
  readonly points?: number | undefined
  /** What happens at its end, as the text says it. */
  readonly event?: string | undefined
  readonly napMs?: number | undefined
}

export interface Schedule {
  readonly kind: string
  readonly start: string
  /** How many unused profiles there are. */
  readonly profiles: number
  readonly calls: readonly string[]
  readonly segments: readonly Segment[]
}

const UNITS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000 }
const SEGMENT = /^([A-Z])(\d*)([!%]|\$\$?|[=~][A-Z]+\+?|\^[\d./]+)?(?:@(\d+)([smh]))?$/

/** A schedule whose calls have made no steps yet. */
export type Base = Omit<Schedule, 'segments'>

/** @throws {Error} where it is no schedule */
export function parse(text: string): Schedule {
  const [, kind = '', start = '', profiles, calls = '', rest = ''] =
    /^(\S+) (\S+)\/(\d+) (\S+):\s*(.*)$/.exec(text.trim()) ?? []
  if (kind === '') throw new Error(`not a schedule: ${text}`)
  return {
    kind,
    start,
    profiles: Number(profiles),
    calls: calls.split('+'),
    segments: rest.split(/\s+/).filter(Boolean).map(parseSegment),
  }
}

function parseSegment(text: string): Segment {
  const [, call, points, event, nap, unit = ''] = SEGMENT.exec(text) ?? []
  if (call === undefined) throw new Error(`not a part of a schedule: ${text}`)
  return {
    call: call.charCodeAt(0) - 65,
    points: points === '' ? undefined : Number(points),
    event,
    napMs: nap === undefined ? undefined : Number(nap) * (UNITS[unit] ?? 0),
  }
}

export function format({ kind, start, profiles, calls, segments }: Schedule): string {
  const parts = segments.map(formatSegment).join(' ')
  return `${kind} ${start}/${profiles} ${calls.join('+')}: ${parts}`.trim()
}

function formatSegment({ call, points, event = '', napMs }: Segment): string {
  const nap = napMs === undefined ? '' : `@${napMs / 1000}s`
  return `${String.fromCharCode(65 + call)}${points ?? ''}${event}${nap}`
}

/** What a call has put aside counts as left by a dead one then. */
const ABANDONED_MS = 10 * 60_000

type Faults = ReturnType<typeof faultsOf>

/** Whether a call of this name claims nothing before it holds signals back, and settles nothing either. */
const isClaim = (name = '') => /^(next|device)/.test(name)

/** What goes wrong in a schedule apart from the program. */
export function faultsOf({ segments, calls, start }: Schedule) {
  const callsWith = (what: RegExp) =>
    new Set(segments.flatMap(({ call, event = '' }) => (what.test(event) ? [call] : [])))
  return {
    hasCut: callsWith(/[\^%]/).size > 0,
    // A call that two signals end at once has claimed nothing.
    hasKill: segments.some(
      ({ call, event }) =>
        event === '!' || (event === '$$' && !(isClaim(calls[call]) && /^(fresh|hint)$/.test(start))),
    ),
    /** Calls that were asked to stop. */
    isStopped: callsWith(/\$/),
    /** Calls of which a step was refused or wrongly told. */
    refused: callsWith(/[=~]/),
  }
}

export const hasFault = ({ hasCut, hasKill, refused, isStopped }: Faults) =>
  hasCut || hasKill || refused.size + isStopped.size > 0

export const isPausedForLong = ({ segments }: Schedule) =>
  segments.some(({ napMs = 0 }) => napMs >= ABANDONED_MS)
