/** What `fetch` costs, in time and in memory, from a service on the same machine. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { Place } from './place.ts'
import { type Cost, cost, peakMemory, seconds, turns } from './run.ts'
import { fetchFrom } from './service.ts'
import { grouped, median, type Row } from './table.ts'

const PAIRS = 3
const MANY = 100_000
const ROUND_TRIPS_MS = [100, 200]
const LARGEST_BATCH = 1000
const CONNECTIONS = 4
const FLUSHES_AT_ONCE = 64
const PLAIN = 'writing the same files without flushing'
const EACH = `writing the same files, each flushed, ${FLUSHES_AT_ONCE} at a time`

const walls = (costs: readonly Cost[]) => costs.map(({ wall }) => wall)
const cpus = (costs: readonly Cost[]) => costs.map(({ cpu }) => cpu)

/** In turns with writing the same files, plainly, and with a flush of each, which is the least that durability costs. */
export async function fetch(place: Place, part: number): Promise<Row[]> {
  const fetched = MANY * part
  const { ours, plain, each } = await turns(PAIRS * part, {
    ours: () => fetchFrom(place, fetched, seconds),
    plain: () => write(place, fetched, 'plain').wall,
    each: () => write(place, fetched, 'each').wall,
  })
  const row = { first: `\`fetch\` of ${grouped(fetched)}`, unit: 's', firsts: ours } as const
  const note = `${grouped(Math.round(fetched / median(ours)))} profiles per second`
  return [
    { ...row, second: PLAIN, seconds: plain, note },
    { ...row, second: EACH, seconds: each },
  ]
}

/** As GNU's `sync` does it, which `fetch` uses. */
export async function flush(place: Place, part: number): Promise<Row[]> {
  if (process.platform !== 'linux') return []
  const fetched = MANY * part
  const measured = await turns(PAIRS * part, {
    firsts: () => write(place, fetched, 'at once').wall,
    seconds: () => write(place, fetched, 'each').wall,
  })
  return [
    { first: 'writing the same files, `sync -f` after each 1,000', second: EACH, unit: 's', ...measured },
  ]
}

/** Where no disk takes any time: what is left is the program. */
export async function inMemory(place: Place, part: number): Promise<Row[]> {
  if (process.platform !== 'linux') return []
  const count = 30_000 * part
  const { ours, plain } = await turns(PAIRS * part, {
    ours: () => fetchFrom(place, count, cost, 0, place.newPathInMemory()),
    plain: () => write(place, count, 'plain', place.newPathInMemory()),
  })
  const first = `\`fetch\` of ${grouped(count)} on tmpfs`
  return [
    { first, second: PLAIN, unit: 's', firsts: walls(ours), seconds: walls(plain) },
    { first: `${first}, processor time`, second: PLAIN, unit: 's', firsts: cpus(ours), seconds: cpus(plain) },
  ]
}

/** Over what a network allows that is a round trip wide: full batches, on all connections all the time. */
export async function far(place: Place, part: number): Promise<Row[]> {
  const count = 20_000 * part
  const rounds = Math.ceil(count / LARGEST_BATCH / CONNECTIONS)
  const second = `${rounds} round trips, with ${CONNECTIONS} full requests each`
  const rows: Row[] = []
  for (const ms of ROUND_TRIPS_MS) {
    const { ours } = await turns(PAIRS * part, { ours: () => fetchFrom(place, count, seconds, ms) })
    const first = `\`fetch\` of ${grouped(count)} over TLS, round trip ${ms} ms`
    rows.push({ first, second, unit: 's', firsts: ours, seconds: ours.map(() => (rounds * ms) / 1000) })
  }
  return rows
}

/** The fewest against each of the others; one call each, as the largest takes minutes. */
export async function peak(place: Place, part: number): Promise<Row[]> {
  if (process.platform !== 'linux') return []
  const counts = [10_000, MANY, 10 * MANY].map((count) => count * part)
  const all: number[] = []
  for (const count of counts) all.push(await fetchFrom(place, count, peakMemory))
  const [fewest = 0, ...more] = all
  const second = `of ${grouped(counts[0] ?? 0)}`
  return more.map((megabytes, at) => {
    const first = `peak memory of \`fetch\` of ${grouped(counts[at + 1] ?? 0)}`
    return { first, second, unit: 'MB', firsts: [megabytes], seconds: [fewest] }
  })
}

type Way = 'plain' | 'each' | 'at once'

/** Written by a process of its own, which tells what it took without the start. */
function write(place: Place, count: number, way: Way, directory = place.newPath()): Cost {
  const args = [join(import.meta.dirname, 'write.ts'), place.publicKeyPath, directory, String(count), way]
  // The threads of libuv's pool, in which flushes wait.
  const env = { ...process.env, UV_THREADPOOL_SIZE: String(FLUSHES_AT_ONCE) }
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', env }))
}
