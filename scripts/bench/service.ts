/**
 * The profile service in a process of its own, so that it is not in the way of what is measured. Arguments: how long
 * an answer takes in milliseconds, the API key, the file of the public key. It prints its address and ends when
 * standard input does.
 */
import { readFileSync } from 'node:fs'
import { startService } from '../../test/support/service.ts'

const [latency, key = '', publicKey = ''] = process.argv.slice(2)
const service = await startService({
  apiKeys: [{ key, kind: 'softsim', publicKey: readFileSync(publicKey, 'utf8') }],
  latencyMs: Number(latency),
  callsPerMinute: 1e9,
  allProfilesAlike: true,
  firstIccid: 0,
})
console.log(service.url)
// Ctrl-C is for the benchmark, which ends this.
process.on('SIGINT', () => {})
process.stdin.resume().once('end', () => process.exit())
