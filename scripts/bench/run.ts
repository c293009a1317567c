/** Runs processes and measures them. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'

/** A command and its arguments. */
export type Line = readonly string[]

/** Milliseconds from the start of a process to its end. */
export function time([command = '', ...args]: Line): number {
  const start = performance.now()
  const { status, stderr, error } = spawnSync(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 2 ** 28,
  })
  const end = performance.now()
  if (status !== 0) throw error ?? new Error(`${command} ${args.join(' ')}: ${status}, ${stderr}`)
  return end - start
}

type Measure = () => number | Promise<number>

/** Measures things in turns. */
export async function turns<Name extends string>(count: number, measures: Record<Name, Measure>) {
  const measured = {} as Record<Name, number[]>
  for (const name in measures) measured[name] = []
  for (let round = 0; round < count; round++) {
    for (const name in measures) {
      measured[name].push(await measures[name]())
      await turn()
    }
  }
  return measured
}

/** Measures the two sides of a row in turns. */
export const pairs = (count: number, firsts: Measure, seconds: Measure) => turns(count, { firsts, seconds })

/** Lets the disk finish what was written, which would slow down what is measured next. */
export function settle(): void {
  if (process.platform !== 'win32') execFileSync('sync')
}

/** Starts a process whose output nobody reads: `next` takes `ignore` for that. @returns its exit code */
export function exitOf([command = '', ...args]: Line) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  child.stdout.resume()
  return { pid: child.pid, code: once(child, 'exit').then(([code]) => code as number | null) }
}

/** Megabytes of memory that a process took at most; Linux alone tells. */
export async function peakMemory(line: Line): Promise<number> {
  const { pid, code } = exitOf(line)
  let kilobytes = 0
  // The system keeps the maximum, so that a few looks are enough.
  const poll = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      kilobytes = Math.max(kilobytes, Number(/^VmHWM:\s*(\d+) kB/m.exec(status)?.[1] ?? 0))
    } catch {} // It has ended.
  }, 20)
  if ((await code.finally(() => clearInterval(poll))) !== 0) throw new Error(`failed: ${line.join(' ')}`)
  return kilobytes / 1024
}
