/**
 * Runs the executable as a process of its own. SOFTSIM_BIN names another build of it: a binary, or a bundle that the
 * Node at hand runs.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
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
  const signal = (signal: NodeJS.Signals) => signalGroup(child, signal)
  let stdout = ''
  let stderr = ''
  let hung = false
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  const timer = setTimeout(() => {
    hung = true
    signal('SIGKILL')
  }, HANGS_AFTER_MS)
  const ended = once(child, 'close').then(([code, signal]): Run => {
    clearTimeout(timer)
    return { code, signal, stdout, stderr, hung }
  })
  return { signal, ended }
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // It has ended.
  }
}

/** The ICCIDs in what `next --format=raw` printed; the last line may be cut off. */
export const printedIn = (stdout: string): string[] =>
  [...stdout.matchAll(/^\{"iccid":"(\d+)"/gm)].map(([, iccid]) => iccid ?? '')
