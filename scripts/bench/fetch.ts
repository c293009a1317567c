/** What `fetch` costs, in time and in memory, from a service on the same machine. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { Place } from './place.ts'
import { pairs, peakMemory, settle, time, turns } from './run.ts'
import type { Suite } from './scale.ts'
import { fetchFrom } from './serve.ts'
import { median } from './statistics.ts'
import { grouped, type Row } from './table.ts'

const SLOW_MS = 200
const ROUND_TRIP_MS = 100
const FLUSHES_AT_ONCE = 64
const FEW = 10

/** In turns with writing the same files, plainly, and with a flush of each, which is the least that durability costs. */
export const fetch: Suite = {
  name: 'fetch',
  files: ({ fetched, fetchPairs }) => 4 * fetched * fetchPairs,
  async measure(place, { fetched, fetchPairs }) {
    const fetchSeconds = (latencyMs: number) => () =>
      fetchFrom(place, { latencyMs }, fetched, (line) => time(line) / 1000)
    const { quick, slow, plain, flushed } = await turns(place, fetchPairs, {
      quick: fetchSeconds(0),
      slow: fetchSeconds(SLOW_MS),
      plain: () => writeSeconds(place, fetched, 'plain'),
      flushed: () => writeSeconds(place, fetched, 'flushed'),
    })
    const first = `\`fetch\` of ${grouped(fetched)}, response time 0 ms`
    const slowly = `\`fetch\` of ${grouped(fetched)}, response time ${SLOW_MS} ms`
    const second = 'writing the same files without flushing'
    const third = `writing the same files, each flushed, ${FLUSHES_AT_ONCE} at a time`
    const note = `${grouped(Math.round(fetched / median(quick)))} profiles per second`
    const rows: Row[] = [
      { first, second, unit: 's', firsts: quick, seconds: plain, note },
      { first: third, second, unit: 's', firsts: flushed, seconds: plain },
      { first, second: third, unit: 's', firsts: quick, seconds: flushed },
      { first: slowly, second: 'response time 0 ms', unit: 's', firsts: slow, seconds: quick },
    ]
    return { rows }
  },
}

/** What a network adds that is a round trip wide, and how many connections it takes. */
export const far: Suite = {
  name: 'far',
  files: ({ fetchedFar, fetchPairs }) => 2 * fetchedFar * fetchPairs,
  async measure(place, { fetchedFar, fetchPairs }) {
    let connections = 0
    const seconds = (roundTripMs: number) => () =>
      fetchFrom(
        place,
        { roundTripMs, tellConnections: (count) => (connections = Math.max(connections, count)) },
        fetchedFar,
        (line) => time(line) / 1000,
      )
    const { distant, close } = await turns(place, fetchPairs, {
      distant: seconds(ROUND_TRIP_MS),
      close: seconds(0),
    })
    const first = `\`fetch\` of ${grouped(fetchedFar)} over TLS, round trip ${ROUND_TRIP_MS} ms`
    const note = `at most ${connections} connections`
    return { rows: [{ first, second: 'round trip 0 ms', unit: 's', firsts: distant, seconds: close, note }] }
  },
}

/** The fewest against each of the others; one call each, as the largest takes minutes. Then `next` in the largest. */
export const memory: Suite = {
  name: 'memory',
  files: ({ memory }) => memory.reduce((sum, count) => sum + count, 0),
  async measure(place, { memory: counts, afterPairs }) {
    if (process.platform !== 'linux') return {}
    const peaks: { count: number; megabytes: number; seconds: number }[] = []
    let directory = ''
    for (const count of counts) {
      directory = place.newPath()
      const began = performance.now()
      const megabytes = await fetchFrom(place, { directory }, count, peakMemory)
      peaks.push({ count, megabytes, seconds: (performance.now() - began) / 1000 })
    }
    const [fewest, ...others] = peaks
    const rows: Row[] = others.map(({ count, megabytes, seconds }) => ({
      first: `peak memory of \`fetch\` of ${grouped(count)}`,
      second: `of ${grouped(fewest?.count ?? 0)}`,
      unit: 'MB' as const,
      firsts: [megabytes],
      seconds: [fewest?.megabytes ?? 0],
      note: `${grouped(Math.round(count / seconds))} profiles per second`,
    }))
    return { rows: [...rows, ...(await nextAfter(place, directory, counts.at(-1) ?? 0, afterPairs))] }
  },
}

/** The first call after a fetch, which leaves the hint, and the memory of a call that has to read all names. */
async function nextAfter(place: Place, directory: string, count: number, runs: number): Promise<Row[]> {
  const stations = await Promise.all(Array.from({ length: runs }, () => place.newStation(FEW)))
  place.keepHint(directory)
  const times = await pairs(
    place,
    runs,
    () => {
      settle()
      const milliseconds = time(place.next(directory))
      place.putBack(directory, 0)
      place.restoreHint(directory)
      return milliseconds
    },
    () => time(place.next(stations.pop() ?? '')),
  )
  const few = await place.newStation(FEW)
  place.dropHint(directory)
  const firsts = [await peakMemory(place.next(directory))]
  const seconds = [await peakMemory(place.next(few))]
  const second = `with ${FEW} of ${FEW}`
  return [
    { first: `first \`next\` after a \`fetch\` of ${grouped(count)}`, second, unit: 'ms', ...times },
    {
      first: `peak memory of \`next\` among ${grouped(count)}, without the hint`,
      second,
      unit: 'MB',
      firsts,
      seconds,
    },
  ]
}

/** Written by a process of its own, which tells how long it took without the start. */
function writeSeconds(place: Place, count: number, way: 'plain' | 'flushed'): number {
  const script = join(import.meta.dirname, 'write.ts')
  const args = [script, place.publicKeyPath, place.newPath(), String(count), way]
  // The threads of libuv's pool, in which flushes wait.
  const env = { ...process.env, UV_THREADPOOL_SIZE: String(FLUSHES_AT_ONCE) }
  settle()
  return Number(execFileSync(process.execPath, args, { env }).toString())
}
