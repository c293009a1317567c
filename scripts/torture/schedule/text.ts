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
import type { Fault } from './engine.ts'

export interface Segment {
  /** Of the calls, which one. */
  readonly call: number
  /** Undefined: to its end. */
  readonly points?: number
  readonly fault?: Fault
  readonly isKill?: boolean
  /** How many signals it gets. */
  readonly signals?: number
  /** The power is cut, and these shares of what is not flushed stay: one directory or file after the other, in turn. */
  readonly cut?: readonly number[]
  /** The stick is pulled out, and all calls end. */
  readonly isPull?: boolean
  readonly napMs?: number
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
  const [, call, points, what = '', nap, unit = ''] = SEGMENT.exec(text) ?? []
  if (call === undefined) throw new Error(`not a part of a schedule: ${text}`)
  const sign = what[0] ?? ''
  const how = sign === '=' ? 'refused' : sign === '~' ? 'told' : undefined
  const fault: Fault | undefined = how && {
    how,
    code: what.slice(1).replace('+', ''),
    ...(what.endsWith('+') && { lasts: true }),
  }
  return {
    call: call.charCodeAt(0) - 65,
    ...(points === '' ? {} : { points: Number(points) }),
    ...(fault === undefined ? {} : { fault }),
    ...(sign === '$' ? { signals: what.length } : {}),
    ...(sign === '!' ? { isKill: true } : {}),
    ...(sign === '%' ? { isPull: true } : {}),
    ...(sign === '^' ? { cut: what.slice(1).split('/').map(Number) } : {}),
    ...(nap === undefined ? {} : { napMs: Number(nap) * (UNITS[unit] ?? 0) }),
  }
}

export function format({ kind, start, profiles, calls, segments }: Schedule): string {
  const parts = segments.map(formatSegment).join(' ')
  return `${kind} ${start}/${profiles} ${calls.join('+')}: ${parts}`.trim()
}

function formatSegment({ call, points, fault, isKill, signals = 0, isPull, cut, napMs }: Segment): string {
  const error = fault && `${fault.how === 'refused' ? '=' : '~'}${fault.code}${fault.lasts ? '+' : ''}`
  const what = error ?? (signals > 0 ? '$'.repeat(signals) : undefined)
  return [
    String.fromCharCode(65 + call),
    points ?? '',
    what ?? (isKill ? '!' : isPull ? '%' : cut === undefined ? '' : `^${cut.join('/')}`),
    napMs === undefined ? '' : `@${napMs / 1000}s`,
  ].join('')
}

/** What a call has put aside counts as left by a dead one then. */
const ABANDONED_MS = 10 * 60_000

type Faults = ReturnType<typeof faultsOf>

/** Whether a call of this name claims nothing before it holds signals back, and settles nothing either. */
const isClaim = (name = '') => /^(next|device)/.test(name)

/** What goes wrong in a schedule apart from the program. */
export function faultsOf({ segments, calls, start }: Schedule) {
  return {
    hasCut: segments.some(({ cut, isPull = false }) => cut !== undefined || isPull),
    // A call that two signals end at once has claimed nothing.
    hasKill: segments.some(
      ({ isKill, signals = 0, call }) =>
        isKill || (signals > 1 && !(isClaim(calls[call]) && /^(fresh|hint)$/.test(start))),
    ),
    /** Calls that were asked to stop. */
    isStopped: new Set(segments.flatMap(({ call, signals = 0 }) => (signals > 0 ? [call] : []))),
    /** Calls of which a step was refused or wrongly told. */
    refused: new Set(segments.flatMap(({ call, fault }) => (fault === undefined ? [] : [call]))),
  }
}

export const hasFault = ({ hasCut, hasKill, refused, isStopped }: Faults) =>
  hasCut || hasKill || refused.size + isStopped.size > 0

export const isPausedForLong = ({ segments }: Schedule) =>
  segments.some(({ napMs = 0 }) => napMs >= ABANDONED_MS)
