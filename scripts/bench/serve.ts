import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { BINARY, type Place } from './place.ts'
import { type Line, settle } from './run.ts'

const API_KEY = 'bench-key'

export interface Serving {
  readonly latencyMs?: number
  /** Of a service with TLS that is far away; see distance.ts. */
  readonly roundTripMs?: number
  /** Told how many connections such a service had. */
  readonly tellConnections?: (count: number) => void
  /** Where the profiles go: a new one unless it is named. */
  readonly directory?: string
}

/** Fetches `count` profiles from a new service in a process of its own. */
export async function fetchFrom<T>(
  place: Place,
  { latencyMs = 0, roundTripMs, tellConnections, directory = place.newPath() }: Serving,
  count: number,
  measure: (line: Line) => T | Promise<T>,
): Promise<T> {
  const script = join(import.meta.dirname, 'service.ts')
  const far = roundTripMs === undefined ? [] : [String(roundTripMs), place.root]
  const args = [script, String(latencyMs), API_KEY, place.publicKeyPath, ...far]
  const service = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(service, 'exit')
  try {
    const [told] = await Promise.race([once(service.stdout.setEncoding('utf8'), 'data'), ended])
    if (typeof told !== 'string') throw new Error(`the service exited with ${told}`)
    const [url = '', certificate = ''] = told.trim().split(' ')
    settle()
    process.env['NODE_EXTRA_CA_CERTS'] = certificate
    const options = ['-u', url, '-a', API_KEY, '-n', String(count), '-o', directory]
    return await measure([...BINARY, 'fetch', ...options])
  } finally {
    service.stdin.end()
    const connections = Number(await text(service.stdout))
    await ended
    tellConnections?.(connections)
  }
}
