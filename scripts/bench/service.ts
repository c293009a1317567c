/**
 * The profile service in a process of its own, so that it is not in the way of what is measured. Arguments: how long
 * an answer takes in milliseconds, the API key, the file of the public key; for a service that is far away, also the
 * round trip in milliseconds, and a directory for its certificate. It prints its address and the file of its
 * certificate, which is empty if it has none. It ends when standard input does, and prints how many connections it had.
 */
import { readFileSync } from 'node:fs'
import { selfSigned } from '../../test/support/keys.ts'
import { startService } from '../../test/support/service.ts'
import { startDistance } from './distance.ts'

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
const distance = tls && (await startDistance(Number(url.port), Number(roundTrip)))
if (distance) url.port = String(distance.port)
console.log(`${url} ${tls?.certPath ?? ''}`)
// Ctrl-C is for the benchmark, which ends this.
process.on('SIGINT', () => {})
process.stdin.resume().once('end', () => {
  process.stdout.write(`${distance?.connections() ?? ''}`, () => process.exit())
})
