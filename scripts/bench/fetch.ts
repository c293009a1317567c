/** What `fetch` costs, in time and in memory, from a service on the same machine. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { Place } from './place.ts'
import { type Line, pairs, peakMemory, settle, time, turns } from './run.ts'
import type { Scale } from './scale.ts'
import { fetchFrom } from './service.ts'
import { grouped, median, type Row } from './table.ts'

const SLOW_MS = 200
const ROUND_TRIP_MS = 100
const FLUSHES_AT_ONCE = 64
const FEW = 10

/** In turns with writing the same files, plainly, and with a flush of each, which is the least that durability costs. */
export async function fetch(place: Place, { fetched, fetchPairs }: Scale): Promise<Row[]> {
  const { quick, slow, plain, flushed } = await turns(fetchPairs, {
    quick: async () => (await fetchFrom(place, fetched, seconds)).measured,
    slow: async () => (await fetchFrom(place, fetched, seconds, { latencyMs: SLOW_MS })).measured,
    plain: () => writeSeconds(place, fetched, 'plain'),
    flushed: () => writeSeconds(place, fetched, 'flushed'),
  })
  const first = `\`fetch\` of ${grouped(fetched)}, response time 0 ms`
  const slowly = `\`fetch\` of ${grouped(fetched)}, response time ${SLOW_MS} ms`
  const second = 'writing the same files without flushing'
  const third = `writing the same files, each flushed, ${FLUSHES_AT_ONCE} at a time`
  const note = `${grouped(Math.round(fetched / median(quick)))} profiles per second`
  return [
    { first, second, unit: 's', firsts: quick, seconds: plain, note },
    { first: third, second, unit: 's', firsts: flushed, seconds: plain },
    { first, second: third, unit: 's', firsts: quick, seconds: flushed },
    { first: slowly, second: 'response time 0 ms', unit: 's', firsts: slow, seconds: quick },
  ]
}

/** What a network adds that is a round trip wide, and how many connections it takes. */
export async function far(place: Place, { fetchedFar, fetchPairs }: Scale): Promise<Row[]> {
  let most = 0
  const secondsAt = (roundTripMs: number) => async () => {
    const { measured, connections } = await fetchFrom(place, fetchedFar, seconds, { roundTripMs })
    most = Math.max(most, connections)
    return measured
  }
  const measured = await pairs(fetchPairs, secondsAt(ROUND_TRIP_MS), secondsAt(0))
  const first = `\`fetch\` of ${grouped(fetchedFar)} over TLS, round trip ${ROUND_TRIP_MS} ms`
  const note = `at most ${most} connections`
  return [{ first, second: 'round trip 0 ms', unit: 's', ...measured, note }]
}

/** The fewest against each of the others; one call each, as the largest takes minutes. Then `next` in the largest. */
export async function memory(place: Place, { memory: counts, afterPairs }: Scale): Promise<Row[]> {
  if (process.platform !== 'linux') return []
  const all: { count: number; measured: number; speed: number; directory: string }[] = []
  for (const count of counts) {
    const [directory, began] = [place.newPath(), performance.now()]
    const { measured } = await fetchFrom(place, count, peakMemory, { directory })
    const speed = Math.round((1000 * count) / (performance.now() - began))
    all.push({ count, measured, speed, directory })
  }
  const [fewest, ...more] = all
  const rows = more.map(
    ({ count, measured, speed }): Row => ({
      first: `peak memory of \`fetch\` of ${grouped(count)}`,
      second: `of ${grouped(fewest?.count ?? 0)}`,
      ...{ unit: 'MB', firsts: [measured], seconds: [fewest?.measured ?? 0] },
      note: `${grouped(speed)} profiles per second`,
    }),
  )
  const { directory = '', count = 0 } = all.at(-1) ?? {}
  return [...rows, ...(await nextAfter(place, directory, count, afterPairs))]
}

/** The first call after a fetch, which leaves the hint, and the memory of a call that has to read all names. */
async function nextAfter(place: Place, directory: string, count: number, runs: number): Promise<Row[]> {
  const stations = await place.newStations(runs + 1, FEW)
  const restoreHint = place.keepHint(directory)
  const nextOfMany = async () => {
    settle()
    const milliseconds = await time(place.next(directory))
    place.putBack(directory, 0)
    restoreHint()
    return milliseconds
  }
  const times = await pairs(runs, nextOfMany, () => time(place.next(stations.pop() ?? '')))
  place.dropHint(directory)
  const firsts = [await peakMemory(place.next(directory))]
  const seconds = [await peakMemory(place.next(stations.pop() ?? ''))]
  const second = `with ${FEW} of ${FEW}`
  const first = `peak memory of \`next\` among ${grouped(count)}, without the hint`
  return [
    { first: `first \`next\` after a \`fetch\` of ${grouped(count)}`, second, unit: 'ms', ...times },
    { first, second, unit: 'MB', firsts, seconds },
  ]
}

const seconds = async (line: Line) => (await time(line)) / 1000

/** Written by a process of its own, which tells how long it took without the start. */
function writeSeconds(place: Place, count: number, way: 'plain' | 'flushed'): number {
  const script = join(import.meta.dirname, 'write.ts')
  const args = [script, place.publicKeyPath, place.newPath(), String(count), way]
  // The threads of libuv's pool, in which flushes wait.
  const env = { ...process.env, UV_THREADPOOL_SIZE: String(FLUSHES_AT_ONCE) }
  settle()
  return Number(execFileSync(process.execPath, args, { env }).toString())
}
