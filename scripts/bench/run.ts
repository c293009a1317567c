/** Runs processes and measures them. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'

/** A command and its arguments. */
export type Line = readonly string[]

/** Starts a process whose output nobody reads: `next` takes `ignore` for that. @returns also what failed, if anything */
function start([command = '', ...args]: Line) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.resume()
  const said = text(child.stderr)
  const failure = once(child, 'close').then(async ([code]) =>
    code === 0 ? undefined : `${command} ${args.join(' ')}: ${code}, ${await said}`,
  )
  return { pid: child.pid, failure }
}

/** Runs a process. @returns whether it succeeded */
export const succeeds = async (line: Line): Promise<boolean> => (await start(line).failure) === undefined

/** Milliseconds from the start of a process to its end. */
export async function time(line: Line): Promise<number> {
  const began = performance.now()
  const failure = await start(line).failure
  if (failure !== undefined) throw new Error(failure)
  return performance.now() - began
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

/** Megabytes of memory that a process took at most; Linux alone tells. */
export async function peakMemory(line: Line): Promise<number> {
  const { pid, failure } = start(line)
  let kilobytes = 0
  // The system keeps the maximum, so that a few looks are enough.
  const poll = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      kilobytes = Math.max(kilobytes, Number(/^VmHWM:\s*(\d+) kB/m.exec(status)?.[1] ?? 0))
    } catch {} // It has ended.
  }, 20)
  const failed = await failure.finally(() => clearInterval(poll))
  if (failed !== undefined) throw new Error(failed)
  return kilobytes / 1024
}
