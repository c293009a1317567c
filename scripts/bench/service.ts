/** The profile service, which can look as if it was far away. It runs in this process, which only waits meanwhile. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { selfSigned } from '../../test/support/keys.ts'
import { startService } from '../../test/support/service.ts'
import type { Place } from './place.ts'
import { type Line, settle } from './run.ts'

const API_KEY = 'bench-key'

export interface Serving {
  readonly latencyMs?: number
  /** Of a service with TLS that is far away. */
  readonly roundTripMs?: number
  readonly directory?: string
}

/** Measures a call of `fetch` of `count` profiles from a new service. */
export async function fetchFrom(
  place: Place,
  count: number,
  measure: (line: Line) => Promise<number>,
  { latencyMs = 0, roundTripMs, directory = place.newPath() }: Serving = {},
): Promise<{ measured: number; connections: number }> {
  const tls = roundTripMs === undefined ? undefined : selfSigned(place.root)
  const service = await startService({
    apiKeys: [{ key: API_KEY, kind: 'softsim', publicKey: readFileSync(place.publicKeyPath, 'utf8') }],
    ...{ latencyMs, callsPerMinute: 1e9, allProfilesAlike: true, firstIccid: 0 },
    ...(tls && { tls }),
  })
  const url = new URL(service.httpsUrl ?? service.url)
  const far = roundTripMs === undefined ? undefined : await farPort(Number(url.port), roundTripMs)
  if (far !== undefined) url.port = String((far.address() as AddressInfo).port)
  let connections = 0
  far?.on('connection', () => connections++)
  process.env['NODE_EXTRA_CA_CERTS'] = tls?.certPath ?? ''
  settle()
  try {
    const options = ['-u', String(url), '-a', API_KEY, '-n', String(count), '-o', directory]
    return { measured: await measure([place.binary, 'fetch', ...options]), connections }
  } finally {
    far?.close()
    await service.close()
  }
}

/** Each connection and each part of it takes its time. */
async function farPort(port: number, roundTripMs: number): Promise<Server> {
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (near) => {
    const far = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    // TCP's handshake is a round trip, too.
    lag(near, far, roundTripMs / 2, roundTripMs)
    lag(far, near, roundTripMs / 2)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

/** @param moreMs for the first part; the other side waits for it before it says anything */
function lag(from: Socket, to: Socket, ms: number, moreMs = 0): void {
  let isFirst = true
  from.on('data', (part) => {
    setTimeout(() => to.write(part), isFirst ? ms + moreMs : ms)
    isFirst = false
  })
  from.on('end', () => setTimeout(() => to.end(), ms))
  from.on('error', () => to.destroy())
}
