/** How much is measured: all of it, or enough to see whether something is off. */
import type { Place } from './place.ts'
import { grouped, type Row } from './table.ts'

/** What belongs together, by the name that --only takes. */
export interface Suite {
  readonly name: string
  /** How many files it makes at most. */
  readonly files: (scale: Scale) => number
  readonly measure: (place: Place, scale: Scale) => Promise<{ rows?: Row[]; svg?: string }>
}

export interface Scale {
  /** Pairs of `next` and `node -e 0`. */
  readonly startPairs: number
  /** Files in the large directory. */
  readonly many: number
  readonly manyPairs: number
  /** Pairs whose first is a call without the hint. */
  readonly coldPairs: number
  readonly panel: number
  readonly panelPairs: number
  readonly lot: number
  /** How many profiles are consumed between two measurements of a decryption. */
  readonly lotPart: number
  readonly stationProfiles: number
  readonly stationPairs: number
  readonly fetched: number
  readonly fetchPairs: number
  /** From a service that is far away. */
  readonly fetchedFar: number
  /** Profiles that are fetched to see the memory that it takes, fewest first. */
  readonly memory: readonly number[]
  /** Pairs whose first is the first call of `next` after the largest of them. */
  readonly afterPairs: number
  /** Profiles in the directories of the plot. */
  readonly plotted: readonly number[]
  /** Calls for each point of the plot. */
  readonly plotRuns: number
}

export const FULL: Scale = {
  startPairs: 40,
  many: 1_000_000,
  manyPairs: 40,
  coldPairs: 5,
  panel: 1000,
  panelPairs: 7,
  lot: 20_000,
  lotPart: 1000,
  stationProfiles: 400,
  stationPairs: 3,
  fetched: 100_000,
  fetchPairs: 3,
  fetchedFar: 20_000,
  memory: [10_000, 100_000, 1_000_000],
  afterPairs: 15,
  plotted: [10, 100, 1000, 10_000, 100_000, 1_000_000],
  plotRuns: 9,
}

export const QUICK: Scale = {
  ...FULL,
  startPairs: 10,
  many: 100_000,
  manyPairs: 10,
  coldPairs: 3,
  panelPairs: 2,
  lot: 4000,
  stationProfiles: 100,
  stationPairs: 2,
  fetched: 20_000,
  fetchPairs: 1,
  fetchedFar: 10_000,
  memory: [5000, 20_000],
  afterPairs: 5,
  plotted: [10, 100, 1000, 10_000, 100_000],
  plotRuns: 5,
}

/** What differs between the two. */
export function shrunk(full: Scale, quick: Scale): string {
  const show = (value: number | readonly number[]) => [value].flat().map(grouped).join(' ')
  return (Object.keys(full) as (keyof Scale)[])
    .filter((name) => show(full[name]) !== show(quick[name]))
    .map((name) => `${name} ${show(quick[name])} instead of ${show(full[name])}`)
    .join('; ')
}
