/** The table that the benchmark prints. All of it is pure. */

export type Unit = 'ms' | 's' | 'MB'

/** Two things that were measured in turns, and which of them is divided by which. */
export interface Row {
  readonly first: string
  readonly second: string
  readonly unit: Unit
  /** What each pair measured, in this unit. */
  readonly firsts: readonly number[]
  readonly seconds: readonly number[]
  readonly note?: string
}

/** @param values at least one */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const half = sorted.length / 2
  return ((sorted[Math.ceil(half) - 1] ?? 0) + (sorted[Math.floor(half)] ?? 0)) / 2
}

/** The rows as Markdown. */
export function table(rows: readonly Row[]): string {
  const head = ['A / B', 'ratio: median (least–greatest)', 'A', 'B', 'pairs']
  const lines = [head, ['---', '---', '--:', '--:', '--:'], ...rows.map(cells)]
  return lines.map((line) => `| ${line.join(' | ')} |\n`).join('')
}

function cells({ first, second, unit, firsts, seconds, note }: Row): string[] {
  // Pair by pair: what slows the machine down for a while slows down both of a pair.
  const ratios = firsts.map((value, pair) => value / (seconds[pair] ?? Number.NaN))
  const spread = ` (${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)})`
  return [
    `${first} / ${second}${note === undefined ? '' : `; ${note}`}`,
    `**${median(ratios).toFixed(2)}**${firsts.length > 1 ? spread : ''}`,
    quantity(median(firsts), unit),
    quantity(median(seconds), unit),
    String(firsts.length),
  ]
}

/** As many digits as count. */
const quantity = (value: number, unit: Unit) =>
  `${value < 100 ? value.toFixed(value < 10 ? 2 : 1) : grouped(Math.round(value))} ${unit}`

/** 1000000 as 1,000,000. */
export const grouped = (value: number) => value.toLocaleString('en-US')
