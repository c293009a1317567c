/** Two directories, on one disk or two, and the command that moves profiles from one to the other. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Image } from '../image.ts'
import { type Run, run } from '../program.ts'
import { Violation } from '../tally.ts'
import { type Injection, type Point, points, readCalls, touches, traced } from '../trace.ts'
import type { Works } from '../works.ts'

/** How many profiles a move that is killed is to move. */
export const MOVED = 5

export interface Disk {
  readonly name: string
  readonly path: string
  /** Undefined if nobody can pull it. */
  readonly image?: Image
}

export interface Pair {
  readonly disks: { readonly from: Disk; readonly to: Disk }
  readonly source: string
  readonly target: string
  /** On neither of their disks. */
  readonly receipt: string
}

export const hereOf = ({ root }: Works): Disk => ({ name: 'this disk', path: root })

/** @param template what the source has */
export function pairOf(works: Works, template?: string, { from, to } = onThisDisk(works)): Pair {
  const above = mkdtempSync(join(from.path, 'source-'))
  const below = mkdtempSync(join(to.path, 'target-'))
  const [source, target] = [join(above, 'profiles'), join(below, 'profiles')]
  if (template === undefined) mkdirSync(source, { mode: 0o700 })
  else cpSync(template, source, { recursive: true })
  return { disks: { from, to }, source, target, receipt: works.newPath('receipt') }
}

function onThisDisk(works: Works): Pair['disks'] {
  const here = hereOf(works)
  return { from: here, to: here }
}

export const kindOf = ({ disks: { from, to } }: Pair) =>
  from === to ? `on ${from.name}` : `from ${from.name} to ${to.name}`

export const imagesOf = ({ disks: { from, to } }: Pair): Image[] => [
  ...new Set([from, to].flatMap(({ image }) => image ?? [])),
]

export function removePair(pair: Pair): void {
  for (const each of [pair.source, pair.target, pair.receipt])
    rmSync(dirname(each), { recursive: true, force: true })
}

export const moveLine = ({ source, target, receipt }: Pair, count = MOVED) => [
  ...['move', '-n', String(count), '-i', source, '-o', target],
  ...['--receipt', receipt],
]

/** Traced, with one thread that flushes: so the calls have the same order in every run. */
export const tracedMove = (log: string, injection?: Injection) => ({
  under: traced(log, injection),
  env: { UV_THREADPOOL_SIZE: '1' },
})

/** Every point at which a move can be killed, and whether it matters to the pair. */
export async function pointsOfMove(works: Works, pair: Pair): Promise<Point[]> {
  const log = works.newPath('trace')
  const { code, stderr } = await run(moveLine(pair), tracedMove(log))
  if (code !== 0) throw new Violation(`move ended with ${code}: ${stderr}`)
  return points(readCalls(readFileSync(log, 'utf8')), (call) =>
    [pair.source, pair.target, pair.receipt].some((path) => touches(call, path)),
  )
}

/** Whether it said so: a person runs again only what did not. */
export const saidDone = ({ code, stderr }: Run) => code === 0 || / moved to /.test(stderr)
