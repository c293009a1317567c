/** The table that the benchmark prints. All of it is pure. */
import { median, ratios, summarize } from './statistics.ts'

export type Unit = 'ms' | 's' | 'MB'

/** Two things that were measured in turns, and which of them is divided by which. */
export interface Row {
  readonly first: string
  readonly second: string
  readonly unit: Unit
  /** What each pair measured, in this unit. */
  readonly firsts: readonly number[]
  readonly seconds: readonly number[]
  /** What else there is to say. */
  readonly note?: string
}

/** The rows as Markdown. */
export function table(rows: readonly Row[]): string {
  const head = ['A / B', 'ratio: median (least–greatest)', 'A', 'B', 'pairs']
  const lines = [head, ['---', '---', '--:', '--:', '--:'], ...rows.map(cells)]
  return lines.map((line) => `| ${line.join(' | ')} |\n`).join('')
}

/** One row for those who wait. */
export const inShort = (row: Row) => cells(row).slice(0, 2).join(': ').replaceAll('*', '')

function cells({ first, second, unit, firsts, seconds, note }: Row): string[] {
  const ratio = summarize(ratios(firsts, seconds))
  const spread = firsts.length > 1 ? ` (${ratio.least.toFixed(2)}–${ratio.greatest.toFixed(2)})` : ''
  return [
    `${first} / ${second}${note === undefined ? '' : `; ${note}`}`,
    `**${ratio.median.toFixed(2)}**${spread}`,
    quantity(median(firsts), unit),
    quantity(median(seconds), unit),
    String(firsts.length),
  ]
}

/** As many digits as count. */
export const quantity = (value: number, unit: Unit) =>
  `${value < 100 ? value.toFixed(value < 10 ? 2 : 1) : grouped(Math.round(value))} ${unit}`

/** 1000000 as 1,000,000. */
export const grouped = (value: number) => value.toLocaleString('en-US')
