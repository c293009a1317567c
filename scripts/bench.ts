/**
 * How long handing out a profile takes, start of the process included: `softsim next` over the start of the same Node
 * that does nothing (`node -e 0`), for the bundle and for this machine's binary. The two run in alternating pairs, so
 * that a machine that slows down slows down both. `node scripts/bench.ts [pairs]`, 40 by default; it judges nothing.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fill, stockUp } from './stock.ts'

const PROFILES = 10
const SYSTEM = { darwin: 'macos', win32: 'win' }[process.platform as string] ?? process.platform
const BINARY = `dist/bin/softsim-${SYSTEM}-${process.arch}${process.platform === 'win32' ? '.exe' : ''}`

const pairs = Number(process.argv[2] ?? 40)
const directory = mkdtempSync(join(tmpdir(), 'softsim-bench-'))
try {
  const files = stockUp(directory, PROFILES)
  console.log(`next, 4096-bit key, ${PROFILES} profiles, ${pairs} pairs, median (least to greatest):`)
  compare('bundle', [process.execPath, resolve('dist/softsim.cjs')], files)
  compare('binary', [resolve(BINARY)], files)
} finally {
  rmSync(directory, { recursive: true })
}

/** Runs the pairs for one build of the program, and prints what came out. */
function compare(name: string, program: string[], files: Map<string, string>): void {
  const next: number[] = []
  const node: number[] = []
  for (let pair = 0; pair < pairs; pair++) {
    // What one run claims must not make the next one's search longer.
    fill(join(directory, 'profiles'), files)
    next.push(time([...program, 'next', '-k', 'key.pem', '-i', 'profiles']))
    node.push(time([process.execPath, '-e', '0']))
  }
  const ratios = next.map((milliseconds, pair) => milliseconds / (node[pair] ?? Number.NaN))
  console.log(`${name}: ${summary(ratios)} times node -e 0; ${summary(next)} ms to ${summary(node)} ms`)
}

/** Milliseconds from the start of a process to its end. */
function time([command = '', ...args]: string[]): number {
  const start = performance.now()
  const { status, stderr } = spawnSync(command, args, { cwd: directory })
  const end = performance.now()
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${status}, ${stderr}`)
  return end - start
}

/** The median, and between which values it stands. */
function summary(values: number[]): string {
  const sorted = values.toSorted((a, b) => a - b)
  const half = sorted.length / 2
  const median = ((sorted[Math.ceil(half) - 1] ?? Number.NaN) + (sorted[Math.floor(half)] ?? Number.NaN)) / 2
  return `${median.toFixed(2)} (${sorted[0]?.toFixed(2)} to ${sorted.at(-1)?.toFixed(2)})`
}
