/**
 * Runs the built program as users do: as a process of its own.
 *
 * SOFTSIM_BIN names another build of it, such as a single binary; else it is dist/softsim.cjs, with the Node that
 * SOFTSIM_NODE names, or that runs the tests.
 */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inject, vi } from 'vitest'
import { type Ended, expectPromisesKept } from './promises.ts'

export interface Options {
  cwd?: string
  /** All the environment there is, beside what the system itself cannot do without. */
  env?: Record<string, string>
  /** A line for /bin/sh that runs the program as `"$@"`, to redirect what it prints. */
  shell?: string
  /** A descriptor of an open file in the place of the pipe that is read. */
  stderr?: number
  /** A file descriptor that the shell has as its number 3. */
  descriptor?: number
}

export interface Started {
  child: ChildProcess
  /** Waits until it has said something on standard error, or has ended. */
  says: (words: string) => Promise<unknown>
  ended: Promise<Ended>
}

/** What a call that takes half a minute says where standard error is no terminal. */
export const PROGRESS =
  /^softsim: (\d+ % \(\d+ of \d+.*\).*|\d+ of \d+ profiles? checked|\d+ receipts? read|\d+ profiles? compared)\n/gm

const running = new Set<ChildProcess>()

/** Ends those that a test has left. */
export function endAll(): void {
  for (const child of running) child.kill('SIGKILL')
}

/** Runs the program to its end. Whatever it was asked, it must keep the promises that hold for every call. */
export const softsim = (args: readonly string[], options?: Options) => startSoftsim(args, options).ended

/** Starts the program, for tests that send it signals or go away from its pipes. */
export function startSoftsim(args: readonly string[], options: Options = {}): Started {
  const { cwd = inject('root'), env = {}, shell } = options
  const line = [...program(), ...args]
  const [file = '', ...rest] = shell === undefined ? line : ['/bin/sh', '-c', shell, 'sh', ...line]
  const stdio: StdioOptions = ['ignore', 'pipe', options.stderr ?? 'pipe']
  if (options.descriptor !== undefined) stdio.push(options.descriptor)
  const child = spawn(file, rest, { cwd, env: { ...ofTheSystem(), ...env }, windowsHide: true, stdio })
  running.add(child)
  child.once('close', () => running.delete(child))
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  const says = (words: string) => until(() => stderr.includes(words) || !running.has(child))
  return { child, says, ended: once(child, 'close').then(conclude) }

  function conclude([code, signal]: unknown[]): Ended {
    const ended = { code, signal, stdout, stderr } as Ended
    expectPromisesKept(args, ended)
    // How often it says how far it is depends on how busy the machine is.
    return { ...ended, stderr: stderr.replaceAll(PROGRESS, '') }
  }
}

/** Waits for something that a started program or its service will do. Only what never comes takes so long. */
export const until = (condition: () => boolean | Promise<boolean>) =>
  vi.waitUntil(condition, { interval: 5, timeout: 250_000 })

/** The words that run the program under test. */
export function program(): string[] {
  const binary = process.env['SOFTSIM_BIN']
  if (binary) return [resolve(binary)]
  const bundle = fileURLToPath(new URL('../../dist/softsim.cjs', import.meta.url))
  if (!existsSync(bundle)) throw new Error(`there is no ${bundle}: npm run build makes it`)
  return [process.env['SOFTSIM_NODE'] ?? process.execPath, bundle]
}

/** Without it a process on Windows can open no socket. */
const ofTheSystem = () =>
  process.platform === 'win32' ? { SystemRoot: process.env['SystemRoot'] ?? 'C:\\Windows' } : {}
