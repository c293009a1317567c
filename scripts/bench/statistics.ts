/** What is said of measured values. All of it is pure. */

export interface Summary {
  readonly median: number
  readonly least: number
  readonly greatest: number
}

/** @param values at least one */
export function summarize(values: readonly number[]): Summary {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (index: number) => sorted[index] ?? Number.NaN
  const half = sorted.length / 2
  return {
    median: (at(Math.ceil(half) - 1) + at(Math.floor(half))) / 2,
    least: at(0),
    greatest: at(sorted.length - 1),
  }
}

export const median = (values: readonly number[]) => summarize(values).median

/** Pair by pair: what slows the machine down for a while slows down both of a pair. */
export const ratios = (first: readonly number[], second: readonly number[]) =>
  first.map((value, pair) => value / (second[pair] ?? Number.NaN))
