/** What `fetch` costs, in time and in memory, from a service on the same machine. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BINARY, type Place } from './place.ts'
import { type Line, peakMemory, settle, time, timeHere, turns } from './run.ts'
import type { Suite } from './scale.ts'
import { grouped, type Row } from './table.ts'

const API_KEY = 'bench-key'
const SLOW_MS = 200

/** In turns with plainly writing the same files, one after the other, without waiting for the disk. */
export const fetch: Suite = {
  name: 'fetch',
  files: ({ fetched, fetchPairs }) => 3 * fetched * fetchPairs,
  async measure(place, { fetched, fetchPairs }) {
    const fetchSeconds = (latencyMs: number) => () =>
      withService(place, latencyMs, fetched, (line) => time(line) / 1000)
    const { quick, slow, plain } = await turns(place, fetchPairs, {
      quick: fetchSeconds(0),
      slow: fetchSeconds(SLOW_MS),
      plain: () => writePlainly(place, fetched) / 1000,
    })
    const first = `\`fetch\` of ${grouped(fetched)}, an answer takes`
    const second = 'plainly writing the same files, not flushed'
    const rows: Row[] = [
      { first: `${first} 0 ms`, second, unit: 's', firsts: quick, seconds: plain },
      { first: `${first} ${SLOW_MS} ms`, second, unit: 's', firsts: slow, seconds: plain },
      { first: `${first} ${SLOW_MS} ms`, second: 'it takes 0 ms', unit: 's', firsts: slow, seconds: quick },
    ]
    return { rows }
  },
}

/** The fewest against each of the others; one call each, as the largest takes minutes. */
export const memory: Suite = {
  name: 'memory',
  files: ({ memory }) => memory.reduce((sum, count) => sum + count, 0),
  async measure(place, { memory: counts }) {
    if (process.platform !== 'linux') return {}
    const peaks: { count: number; megabytes: number; seconds: number }[] = []
    for (const count of counts) {
      const began = performance.now()
      const megabytes = await withService(place, 0, count, peakMemory)
      peaks.push({ count, megabytes, seconds: (performance.now() - began) / 1000 })
    }
    const [fewest, ...others] = peaks
    const rows = others.map(({ count, megabytes, seconds }) => ({
      first: `peak memory of \`fetch\` of ${grouped(count)}`,
      second: `of ${grouped(fewest?.count ?? 0)}`,
      unit: 'MB' as const,
      firsts: [megabytes],
      seconds: [fewest?.megabytes ?? 0],
      note: `${grouped(Math.round(count / seconds))} profiles a second`,
    }))
    return { rows }
  },
}

/** Fetches into a new directory from a new service in a process of its own. */
async function withService<T>(
  place: Place,
  latencyMs: number,
  count: number,
  measure: (line: Line) => T | Promise<T>,
): Promise<T> {
  const script = join(import.meta.dirname, 'service.ts')
  const args = [script, String(latencyMs), API_KEY, place.publicKeyPath]
  const service = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(service, 'exit')
  try {
    const [url] = await Promise.race([once(service.stdout.setEncoding('utf8'), 'data'), ended])
    if (typeof url !== 'string') throw new Error(`the service ended with ${url}`)
    settle()
    const options = ['-u', url.trim(), '-a', API_KEY, '-n', String(count), '-o', place.newPath()]
    return await measure([...BINARY, 'fetch', ...options])
  } finally {
    service.stdin.end()
    await ended
  }
}

/** Milliseconds; making up the texts is not in it. */
function writePlainly(place: Place, count: number): number {
  const files = Array.from({ length: count }, (_, n) => place.nthFile(n))
  const directory = place.newPath()
  mkdirSync(directory)
  settle()
  return timeHere(() => {
    for (const { name, text } of files) writeFileSync(join(directory, name), text)
  })
}
