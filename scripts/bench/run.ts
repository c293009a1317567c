/** Runs processes and measures them. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { constants, type KeyObject, privateDecrypt } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'

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

/** Milliseconds that something in this process takes. */
export function timeHere(work: () => void): number {
  const start = performance.now()
  work()
  return performance.now() - start
}

/** Milliseconds of one decryption, of `count` one after the other on one core. */
export function timeDecryption(key: KeyObject, ciphertext: Buffer, count: number): number {
  const options = { key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha1' }
  const all = timeHere(() => {
    for (let n = 0; n < count; n++) privateDecrypt(options, ciphertext)
  })
  return all / count
}

interface Breathing {
  breathe(): Promise<void>
}

type Measure = () => number | Promise<number>

/** Measures things in turns. */
export async function turns<Name extends string>(
  place: Breathing,
  count: number,
  measures: Record<Name, Measure>,
): Promise<Record<Name, number[]>> {
  const entries = Object.entries<Measure>(measures)
  const measured: Record<string, number[]> = Object.fromEntries(entries.map(([name]) => [name, []]))
  for (let turn = 0; turn < count; turn++) {
    for (const [name, measure] of entries) {
      measured[name]?.push(await measure())
      await place.breathe()
    }
  }
  return measured
}

/** Measures the two sides of a row in turns. */
export const pairs = (place: Breathing, count: number, firsts: Measure, seconds: Measure) =>
  turns(place, count, { firsts, seconds })

/** Lets the disk finish what was written, which would slow down what is measured next. */
export function settle(): void {
  if (process.platform !== 'win32') execFileSync('sync')
}

/** Megabytes of memory that a process took at most; Linux alone tells. */
export async function peakMemory([command = '', ...args]: Line): Promise<number> {
  // `next` takes `ignore` for a standard output that nobody reads.
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.resume()
  const complaint = text(child.stderr)
  let kilobytes = 0
  const poll = setInterval(() => {
    kilobytes = Math.max(kilobytes, highWater(child))
  }, 20)
  const [code] = await once(child, 'exit').finally(() => clearInterval(poll))
  if (code !== 0) throw new Error(`${command} ${args.join(' ')}: ${code}, ${await complaint}`)
  return kilobytes / 1024
}

/** Kilobytes; 0 where it can't be told. The system keeps the maximum, so that a few looks are enough. */
function highWater({ pid }: ChildProcess): number {
  try {
    return Number(/^VmHWM:\s*(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
  } catch {
    return 0
  }
}
