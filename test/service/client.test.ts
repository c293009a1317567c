import { afterEach, expect, inject, test } from 'vitest'
import { Client, type Timeouts } from '../../src/service/client.ts'
import { CallFailure } from '../../src/service/failure.ts'
import { REFUSES } from '../support/sandbox.ts'
import { type Fault, type Service, startService } from '../support/service.ts'

const API_KEY = 'softsim-key'
const apiKeys = [{ key: API_KEY, kind: 'softsim' as const, publicKey: inject('keys').publicKey }]
const PATIENT = { connect: 30_000, headers: 30_000, idle: 30_000, total: 30_000 }
let service: Service
let client: Client

/** Asks a service that shows these faults for three profiles. */
async function ask(faults: Fault[], timeouts: Partial<Timeouts> = {}, signal = new AbortController().signal) {
  service = await startService({ apiKeys })
  service.fault(...faults)
  const url = new URL(`${service.url}?version=1.0.0`)
  client = new Client({ url, apiKey: API_KEY, timeouts: { ...PATIENT, ...timeouts }, trace: () => {} })
  return client.ask(3, () => {}, signal)
}

const failed = (traits: Partial<CallFailure>) => expect.objectContaining({ name: 'CallFailure', ...traits })

afterEach(async () => {
  await client.close()
  await service.close()
})

test('asks as the service wants to be asked', async () => {
  const { profiles } = await ask([])
  expect(profiles.map(({ iccid }) => iccid)).toEqual([...service.allocated.keys()])
  const [request] = service.requests
  expect(request).toMatchObject({ method: 'GET', path: '/sims/profiles', count: 3, status: 200 })
  expect(request?.headers).toMatchObject({ authorization: API_KEY, 'content-type': 'application/json' })
  expect(request?.query.get('version')).toBe('1.0.0')
})

test('tells what the answer says of the rate limit, whatever it answers', async () => {
  await ask([])
  service.fault({ kind: 'status', status: 503, headers: { 'retry-after': '3' } })
  const learnt: unknown[] = []
  const call = client.ask(1, (limit) => learnt.push(limit), new AbortController().signal)
  await expect(call).rejects.toThrow('503')
  expect(learnt).toEqual([{ remaining: 0, waitMs: 3000 }])
})

test.each<[string, Fault, Partial<Timeouts>]>([
  ['that keeps it waiting', { kind: 'delay', ms: 60_000 }, { headers: 50 }],
  ['that stops amid the answer', { kind: 'drip', ms: 60_000 }, { idle: 50 }],
  ['that never ends its answer', { kind: 'drip', ms: 5 }, { total: 200 }],
])(
  'gives up a service %s; profiles may be lost with it, the next call may do better',
  async (_, fault, timeouts) => {
    await expect(ask([fault], timeouts)).rejects.toEqual(failed({ isPassing: true, mayHaveAllocated: true }))
  },
)

test.each<[string, Fault]>([
  ['drop-after', { kind: 'drop-after' }],
  ['torn', { kind: 'torn' }],
  ['reset', { kind: 'reset' }],
])('a connection that breaks once the request is out: %s', async (_, fault) => {
  await expect(ask([fault])).rejects.toEqual(failed({ isPassing: true, mayHaveAllocated: true }))
})

test('a connection that is refused costs nothing', async () => {
  await ask([])
  const other = new Client({ url: new URL(REFUSES), apiKey: API_KEY, trace: () => {} })
  const call = other.ask(1, () => {}, new AbortController().signal)
  await expect(call).rejects.toEqual(failed({ isPassing: true, mayHaveAllocated: false }))
  await other.close()
})

test.each<[string, Fault]>([
  ['compressed', { kind: 'gzip' }],
  ['of no profiles', { kind: 'garbage', body: '<html>Log in</html>', contentType: 'text/html' }],
  ['torn in its JSON', { kind: 'garbage', body: '{"count":1,"profiles":[' }],
  ['that is larger than any that was asked for', { kind: 'huge', bytes: 10_000_000 }],
  ['without end', { kind: 'huge' }],
])('an answer %s is none, and is not asked for again', async (_, fault) => {
  await expect(ask([fault])).rejects.toEqual(failed({ isPassing: false, mayHaveAllocated: true }))
})

test.each([
  [400, false, false],
  [401, false, false],
  [403, false, false],
  [404, false, false],
  [429, true, false],
  [500, true, false],
  [502, true, true],
  [503, true, false],
  [504, true, true],
])('%i', async (status, isPassing, mayHaveAllocated) => {
  const fault: Fault = { kind: 'status', status, body: 'says why' }
  await expect(ask([fault])).rejects.toEqual(failed({ status, isPassing, mayHaveAllocated }))
})

test('a long message of the service is cut', async () => {
  const call = ask([{ kind: 'status', status: 500, body: 'x'.repeat(3000) }])
  const error = await call.catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(CallFailure)
  expect((error as CallFailure).message.length).toBeLessThan(500)
})

test('a call that is called off may have cost profiles', async () => {
  const stop = new AbortController()
  const call = ask([{ kind: 'delay', ms: 60_000 }], {}, stop.signal)
  while (!(service?.allocated.size > 0)) await new Promise(setImmediate)
  stop.abort()
  await expect(call).rejects.toEqual(failed({ isPassing: false, mayHaveAllocated: true }))
})
