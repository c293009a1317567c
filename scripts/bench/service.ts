/** The profile service, which can look as if it was far away. It runs in this process, which only waits meanwhile. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { selfSigned } from '../../test/support/keys.ts'
import { startService } from '../../test/support/service.ts'
import type { Place } from './place.ts'
import type { Line } from './run.ts'

const API_KEY = 'bench-key'

/**
 * Measures a call of `fetch` of `count` profiles from a new service.
 * @param roundTripMs to one with TLS that is far away; 0: it is near, without TLS
 */
export async function fetchFrom<T>(
  place: Place,
  count: number,
  measure: (line: Line) => Promise<T>,
  roundTripMs = 0,
  directory = place.newPath(),
): Promise<T> {
  const tls = roundTripMs === 0 ? undefined : selfSigned(place.root)
  const service = await startService({
    apiKeys: [{ key: API_KEY, kind: 'softsim', publicKey: readFileSync(place.publicKeyPath, 'utf8') }],
    ...{ callsPerMinute: 1e9, allProfilesAlike: true, firstIccid: 0 },
    ...(tls && { tls }),
  })
  const url = new URL(service.httpsUrl ?? service.url)
  const far = tls === undefined ? undefined : await farPort(Number(url.port), roundTripMs)
  if (far !== undefined) url.port = String((far.address() as AddressInfo).port)
  process.env['NODE_EXTRA_CA_CERTS'] = tls?.certPath ?? ''
  try {
    const options = ['-u', String(url), '-a', API_KEY, '-n', String(count), '-o', directory]
    return await measure([place.binary, 'fetch', ...options])
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
