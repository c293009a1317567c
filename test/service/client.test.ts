import { afterEach, expect, inject, test } from 'vitest'
import { CallFailure } from '../../src/service/call-failure.ts'
import { Client, type Limits } from '../../src/service/client.ts'
import { REFUSES } from '../support/sandbox.ts'
import { type Fault, type Service, startService } from '../support/service.ts'
import { until } from '../support/softsim.ts'

const API_KEY = 'softsim-key'
const apiKeys = [{ key: API_KEY, kind: 'softsim' as const, publicKey: inject('keys').publicKey }]
const PATIENT: Limits = { connect: 30_000, silence: 30_000, least: { bytes: 1, ms: 30_000 } }
let service: Service
let client: Client

/** Asks a service that shows these faults for three profiles. */
async function ask(faults: Fault[], limits: Partial<Limits> = {}, signal = new AbortController().signal) {
  service = await startService({ apiKeys })
  service.fault(...faults)
  const url = new URL(`${service.url}?version=1.0.0`)
  client = new Client({ url, apiKey: API_KEY, limits: { ...PATIENT, ...limits }, trace: () => {} })
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

test.each<[string, Fault, Partial<Limits>]>([
  ['that keeps it waiting', { kind: 'delay', ms: 60_000 }, { silence: 50 }],
  ['that stops amid the answer', { kind: 'drip', ms: 60_000 }, { silence: 50 }],
  ['that never ends its answer', { kind: 'drip', ms: 5 }, { least: { bytes: 1000, ms: 100 } }],
])(
  'gives up a service %s; profiles may be lost with it, the next call may do better',
  async (_, fault, limits) => {
    await expect(ask([fault], limits)).rejects.toEqual(failed({ isPassing: true, mayHaveAllocated: true }))
  },
)

test('an answer that goes on arriving is not cut off, however long it takes in all', async () => {
  // It takes many times as long as the rate is measured.
  const least = { bytes: 1, ms: 10 }
  expect((await ask([{ kind: 'drip', ms: 1, bytes: 10 }], { least })).profiles).toHaveLength(3)
})

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

const RETRY_LATER = { 'retry-after': '1' }

test.each<[status: number, isPassing: boolean, mayHaveAllocated: boolean, headers?: Record<string, string>]>([
  [400, false, false],
  [401, false, false],
  [403, false, false],
  [404, false, false],
  [408, true, false],
  [429, true, false],
  [500, true, true],
  [501, false, false],
  [502, true, true],
  [503, true, true],
  [503, true, false, RETRY_LATER],
  [504, true, true],
  [505, false, false],
  [507, true, true],
  [511, false, false],
  ...[520, 521, 522, 523, 524, 530, 599].map((status): [number, true, true] => [status, true, true]),
])(
  '%i, passing: %s, may have cost profiles: %s',
  async (status, isPassing, mayHaveAllocated, headers = {}) => {
    const fault: Fault = { kind: 'status', status, body: 'says why', headers }
    await expect(ask([fault])).rejects.toEqual(failed({ status, isPassing, mayHaveAllocated }))
  },
)

test('an error page is told in its words', async () => {
  const body = `<html>\r\n<head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad&nbsp;Gateway</h1>
    </center><hr><center>nginx &amp; co</center></body></html>`
  const fault: Fault = { kind: 'garbage', status: 502, body, contentType: 'text/html' }
  await expect(ask([fault])).rejects.toThrow(/^the service answered 502: 502 Bad Gateway nginx & co$/)
})

test.each([
  ['amid tags', '<p>soft<wbr>sim<b>-</b>key</p>'],
  ['in entities', 'soft&#115;im-key'],
  ['at its very end', `${' '.repeat(199)}softsim-key`],
  ['where it is cut off', `${' '.repeat(20_000)}softsim-key`.slice(0, 20_004)],
])('an error page that shows the key, %s, does not give it away', async (_, text) => {
  const fault: Fault = { kind: 'garbage', status: 500, body: `<html>${text}`, contentType: 'text/html' }
  const error = await ask([fault]).catch((reason: unknown) => reason)
  expect(String(error)).not.toMatch(/soft/)
})

test('an error page whose end never comes counts as what its status says', async () => {
  await expect(ask([{ kind: 'torn', status: 401 }])).rejects.toEqual(
    failed({ status: 401, isPassing: false }),
  )
})

test('a long message of the service is cut', async () => {
  const call = ask([{ kind: 'status', status: 500, body: 'x'.repeat(3000) }])
  const error = await call.catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(CallFailure)
  expect((error as CallFailure).message.length).toBeLessThan(500)
})

test('a call that is called off may have cost profiles', async () => {
  const stop = new AbortController()
  const before = service
  const call = ask([{ kind: 'delay', ms: 60_000 }], {}, stop.signal)
  await until(() => service !== before && service.allocated.size > 0)
  stop.abort()
  await expect(call).rejects.toEqual(failed({ isPassing: false, mayHaveAllocated: true }))
})

test('a call that is called off while it waits for a connection costs nothing', async () => {
  await ask([])
  const other = new Client({ url: new URL(service.url), apiKey: API_KEY, trace: () => {} })
  const stop = new AbortController()
  const call = other.ask(1, () => {}, stop.signal)
  stop.abort()
  await expect(call).rejects.toEqual(failed({ isPassing: false, mayHaveAllocated: false }))
  await other.close()
  expect(service.requests).toHaveLength(1)
})
