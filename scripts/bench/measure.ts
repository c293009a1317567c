/** Runs processes and measures them. */
import { execFile, execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { promisify } from 'node:util'

/** A command and its arguments. */
export type Line = readonly string[]

/** In seconds: from the start to the end, and of all processors. */
export interface Cost {
  readonly wall: number
  readonly cpu: number
}

/** Its output is a pipe, also where nobody reads it: `next` refuses to print into nothing. */
const run = ([command = '', ...args]: Line) =>
  promisify(execFile)(command, args, { maxBuffer: Number.POSITIVE_INFINITY })

/** Milliseconds from the start of a process to its end. */
export async function time(line: Line): Promise<number> {
  const began = performance.now()
  await run(line)
  return performance.now() - began
}

export const seconds = async (line: Line) => (await time(line)) / 1000

/** By the shell, which knows what its children took: on its second line, in user and in kernel mode. */
export async function cost(line: Line): Promise<Cost> {
  const began = performance.now()
  const { stdout } = await run(['sh', '-c', '"$@" || exit; times', 'sh', ...line])
  const wall = (performance.now() - began) / 1000
  const times = [...stdout.matchAll(/(\d+)m([\d.]+)s/g)].slice(-2)
  return { wall, cpu: times.reduce((sum, [, minutes, rest]) => sum + 60 * Number(minutes) + Number(rest), 0) }
}

/** Measures things in turns. */
export async function turns<Name extends string, T>(
  count: number,
  measures: Record<Name, () => T | Promise<T>>,
): Promise<Record<Name, T[]>> {
  const measured = {} as Record<Name, T[]>
  for (const name in measures) measured[name] = []
  for (let round = 0; round < count; round++) {
    for (const name in measures) {
      // The disk finishes what was written, which would slow down what is measured next.
      if (process.platform !== 'win32') execFileSync('sync')
      measured[name].push(await measures[name]())
      await turn()
    }
  }
  return measured
}

/** Megabytes of memory that a process took at most; Linux alone tells. */
export async function peakMemory(line: Line): Promise<number> {
  const ended = run(line)
  let kilobytes = 0
  // The system keeps the maximum, so that a few looks are enough.
  const poll = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${ended.child.pid}/status`, 'utf8')
      kilobytes = Math.max(kilobytes, Number(/^VmHWM:\s*(\d+) kB/m.exec(status)?.[1] ?? 0))
    } catch {} // It has ended.
  }, 20)
  await ended.finally(() => clearInterval(poll))
  return kilobytes / 1024
}

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
