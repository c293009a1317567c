/**
 * The profile service in a process of its own, so that it is not in the way of what is measured. Arguments: how long
 * an answer takes in milliseconds, the API key, the file of the public key; for a service that is far away, also the
 * round trip in milliseconds, and a directory for its certificate. It prints its address and the file of its
 * certificate, which is empty if it has none. It ends when standard input does, and prints how many connections it had.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { selfSigned } from '../../test/support/keys.ts'
import { startService } from '../../test/support/service.ts'

const [latency, key = '', publicKey = '', roundTrip = '', directory = ''] = process.argv.slice(2)
const tls = roundTrip === '' ? undefined : selfSigned(directory)
const service = await startService({
  apiKeys: [{ key, kind: 'softsim', publicKey: readFileSync(publicKey, 'utf8') }],
  latencyMs: Number(latency),
  callsPerMinute: 1e9,
  allProfilesAlike: true,
  firstIccid: 0,
  ...(tls && { tls }),
})
const url = new URL(service.httpsUrl ?? service.url)
let connections = 0
if (tls) url.port = String(await farPort(Number(url.port), Number(roundTrip)))
console.log(`${url} ${tls?.certPath ?? ''}`)
// Ctrl-C is for the benchmark, which ends this.
process.on('SIGINT', () => {})
process.stdin.resume().once('end', () => {
  process.stdout.write(`${connections}`, () => process.exit())
})

/** Lets the service look as if it was far away: each connection and each part of it takes its time. */
async function farPort(port: number, roundTripMs: number): Promise<number> {
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (near) => {
    connections++
    const far = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    // TCP's handshake is a round trip, too.
    lag(near, far, roundTripMs / 2, roundTripMs)
    lag(far, near, roundTripMs / 2)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
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
