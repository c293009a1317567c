/** What is to be judged, and what goes wrong in a schedule apart from the program. */
import type { World } from './engine.ts'
import type { Schedule } from './text.ts'

/** What a call has put aside counts as left by a dead one then. */
const ABANDONED_MS = 10 * 60_000

export interface Violation {
  readonly rule: string
  readonly what: string
}

/** A schedule that was run. */
export interface Case {
  readonly world: World
  readonly schedule: Schedule
  readonly faults: Faults
}

type Faults = ReturnType<typeof faultsOf>

/** Whether a call of this name claims nothing before it holds signals back, and settles nothing either. */
const isClaim = (name = '') => /^(next|device)/.test(name)

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
