/**
 * Runs the executable as a process of its own. SOFTSIM_BIN names another build of it: a binary, or a bundle that the
 * Node at hand runs.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { hostBinary } from '../package/host.ts'

const BINARY = join(import.meta.dirname, '../..', hostBinary)

/** Nothing that the program is asked here takes longer than seconds. */
const HANGS_AFTER_MS = 60_000

/** How a run ended. */
export interface Run {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  readonly hung: boolean
}

export interface RunOptions {
  readonly env?: Record<string, string>
  /** A command line that runs another one, such as strace with its options. */
  readonly under?: readonly string[]
}

/** A run under way. */
export interface Started {
  /** To the program and to whatever it runs under: what is killed must not go on as an orphan. */
  readonly signal: (signal: NodeJS.Signals) => void
  readonly ended: Promise<Run>
}

/** The words that start the program. */
export function programLine(): string[] {
  const other = process.env['SOFTSIM_BIN']
  const path = other ? resolve(other) : BINARY
  return /\.c?js$/.test(path) ? [process.execPath, path] : [path]
}

/** Runs the program to its end; one that hangs is killed, and told to have hung. */
export const run = (args: readonly string[], options?: RunOptions): Promise<Run> => start(args, options).ended

/** Starts the program, for those who kill it. */
export function start(args: readonly string[], { env = {}, under = [] }: RunOptions = {}): Started {
  const [file = '', ...rest] = [...under, ...programLine(), ...args]
  const child = spawn(file, rest, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const signal = (signal: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal)
    } catch {
      // It has ended.
    }
  }
  const outputs = Promise.all([text(child.stdout), text(child.stderr)])
  let hung = false
  const timer = setTimeout(() => {
    hung = true
    signal('SIGKILL')
  }, HANGS_AFTER_MS)
  const ended = once(child, 'close').then(async ([code, signal]): Promise<Run> => {
    clearTimeout(timer)
    const [stdout, stderr] = await outputs
    return { code, signal, stdout, stderr, hung }
  })
  return { signal, ended }
}

/** The ICCIDs in what `next --format=raw` printed; the last line may be cut off. */
export const printedIn = (stdout: string): string[] =>
  [...stdout.matchAll(/^\{"iccid":"(\d+)"/gm)].map(([, iccid]) => iccid ?? '')
