/** The schedules as a part of the long tests: on all processors, as long as there is time. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type Tally, Violation } from '../tally.ts'
import type { Works } from '../works.ts'
import type { Found } from './trial.ts'

const SEARCH = fileURLToPath(new URL('../schedule.ts', import.meta.url))

/** More would be the same mistake again and again. */
const MOST_FOUND = 20

interface Line {
  readonly found?: Found
  readonly note?: string
  readonly count?: number
}

/** @throws {Violation} at the end, after all that was found is printed */
export async function schedules(works: Works, tally: Tally, until: number): Promise<undefined> {
  const processes = availableParallelism()
  const seed = works.random.whole(1, 2 ** 31)
  const minutes = (until - performance.now()) / 60_000
  const found = new Set<string>()
  const counts = Array.from({ length: processes }, () => 0)
  const take = (index: number, { found: one, note, count }: Line) => {
    if (one !== undefined && !found.has(one.schedule) && found.size < MOST_FOUND) {
      found.add(one.schedule)
      tally.note(`${one.rule}: ${one.what}\n  node scripts/torture/schedule.ts --replay '${one.schedule}'`)
    }
    if (note !== undefined) tally.note(`schedules, process ${index + 1} of ${processes}: ${note}`)
    if (count === undefined) return
    tally.add('schedules', count - (counts[index] ?? 0))
    counts[index] = count
    tally.show('schedules')
  }
  await Promise.all(counts.map((_, index) => search(index, processes, minutes, seed, take)))
  if (found.size > 0) throw new Violation(`${found.size} schedules violate a rule`)
  return undefined
}

async function search(
  index: number,
  processes: number,
  minutes: number,
  seed: number,
  take: (index: number, line: Line) => void,
): Promise<void> {
  const share = `${index}/${processes}`
  const options = ['--lines', '--share', share, '--minutes', String(minutes), '--seed', String(seed)]
  const child = spawn(process.execPath, [SEARCH, ...options], { stdio: ['ignore', 'pipe', 'inherit'] })
  const stop = () => child.kill()
  process.once('exit', stop)
  const ended = once(child, 'close')
  for await (const line of createInterface(child.stdout)) take(index, JSON.parse(line))
  const [code] = await ended
  process.off('exit', stop)
  // 1: a schedule violates a rule, which has been told.
  if (code !== 0 && code !== 1) throw new Error(`the schedules of process ${index + 1} ended with ${code}`)
}
