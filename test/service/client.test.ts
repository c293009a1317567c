import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, inject, test } from 'vitest'
import { adviceOn } from '../../src/advice/advice.ts'
import { CallFailure } from '../../src/service/call-failure.ts'
import { type Client, clientOf, type Limits } from '../../src/service/client.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { selfSigned } from '../support/keys.ts'
import { REFUSES } from '../support/sandbox.ts'
import { type Fault, type Service, startService } from '../support/service.ts'
import { until } from '../support/softsim.ts'

const API_KEY = 'softsim-key'
const apiKeys = [{ key: API_KEY, kind: 'softsim' as const, publicKey: inject('keys').publicKey }]
const PATIENT: Limits = {
  ...{ connections: 1, connect: 30_000, silence: 30_000, idle: 30_000 },
  least: { bytes: 1, ms: 30_000 },
}
let service: Service
let client: Client

interface Setting extends Partial<Limits> {
  /** What the service promises. */
  keepAliveMs?: number
}

/** Asks a service that shows these faults for three profiles. */
async function ask(
  faults: Fault[],
  { keepAliveMs, ...limits }: Setting = {},
  signal = new AbortController().signal,
) {
  service = await startService({ apiKeys, ...(keepAliveMs !== undefined && { keepAliveMs }) })
  service.fault(...faults)
  const url = new URL(`${service.url}?version=1.0.0`)
  client = clientOf({ url, apiKey: API_KEY, limits: { ...PATIENT, ...limits }, trace: () => {} })
  return client.ask(3, signal)
}

const failed = (traits: Partial<CallFailure>) => expect.objectContaining({ name: 'CallFailure', ...traits })

afterEach(async () => {
  await client.close()
  await service.close()
})

describe('a connection', () => {
  const again = () => client.ask(1, new AbortController().signal)
  const connections = () => new Set(service.requests.map(({ connection }) => connection)).size

  test('is used for the next request', async () => {
    await ask([])
    service.fault({ kind: 'status', status: 503 })
    await expect(again()).rejects.toThrow(CallFailure)
    await again()
    expect([service.requests.length, connections()]).toEqual([3, 1])
  })

  test('that the service has closed is not used again', async () => {
    await ask([{ kind: 'close-after', times: 2 }])
    for (let count = 0; count < 2; count++) {
      await until(() => service.openConnections() === 0)
      await again()
    }
    expect(connections()).toBe(3)
  })

  test('is closed when it was idle for long', async () => {
    await ask([], { idle: 20, keepAliveMs: 0 })
    await until(() => service.openConnections() === 0)
    await again()
    expect(connections()).toBe(2)
  })

  test('is kept as long as the service promises to keep it', async () => {
    await ask([], { idle: 1, keepAliveMs: 600_000 })
    await sleep(50)
    await again()
    expect(connections()).toBe(1)
  })
})

test('reports the rate limit from every response', async () => {
  expect((await ask([])).limit).toEqual({ remaining: 599, waitMs: expect.any(Number) })
  service.fault({ kind: 'status', status: 503, headers: { 'retry-after': '3' } })
  const call = client.ask(1, new AbortController().signal)
  await expect(call).rejects.toEqual(failed({ limit: { remaining: 0, waitMs: 3000 } }))
})

test.each<[string, Fault, Partial<Limits>]>([
  ['that keeps it waiting', { kind: 'delay', ms: 60_000 }, { silence: 50 }],
  ['that stops during the response', { kind: 'drip', ms: 60_000 }, { silence: 50 }],
  ['whose response is too slow', { kind: 'drip', ms: 5 }, { least: { bytes: 1000, ms: 100 } }],
])('gives up on a service %s; profiles may be lost, and a retry may help', async (_, fault, limits) => {
  await expect(ask([fault], limits)).rejects.toEqual(failed({ isPassing: true, mayHaveAllocated: true }))
})

/** The hint of a call to a service with a certificate that is signed by itself. */
async function hintFrom(locate: (service: Service) => string): Promise<string> {
  service = await startService({ apiKeys, tls: selfSigned(temporaryDirectory()), redirect: true })
  client = clientOf({ url: new URL(locate(service)), apiKey: API_KEY, limits: PATIENT, trace: () => {} })
  const error = await client.ask(1, new AbortController().signal).catch((reason: unknown) => reason)
  expect(service.requests.filter(({ secure }) => secure)).toEqual([])
  return adviceOn(error).hint
}

test('plain http to a port for TLS', async () => {
  const hint = await hintFrom(({ httpsUrl }) => httpsUrl?.replace('https:', 'http:') ?? '')
  expect(hint).toBe('check --url and the network of this machine; does this port need https?')
})

test('a failure after a redirect says where it leads', async () => {
  const hint = await hintFrom(({ url }) => url.replace('127.0.0.1', 'localhost'))
  const { origin } = new URL(service.httpsUrl ?? '')
  expect(hint.startsWith(`the service redirected to ${origin}; `)).toBe(true)
})

test('a connection that is refused costs nothing', async () => {
  await ask([])
  const other = clientOf({ url: new URL(REFUSES), apiKey: API_KEY, trace: () => {} })
  const call = other.ask(1, new AbortController().signal)
  await expect(call).rejects.toEqual(failed({ isPassing: true, mayHaveAllocated: false }))
  await other.close()
})

const RETRY_LATER = { 'retry-after': '1' }

test.each<
  [isPassing: boolean, mayHaveAllocated: boolean, statuses: number[], headers?: Record<string, string>]
>([
  // Not the answer that brings profiles, but the service took the request.
  [false, true, [201, 204, 299]],
  [false, false, [300, 400, 401, 403, 404, 501, 505, 511]],
  [true, false, [408, 429]],
  [true, true, [500, 502, 503, 504, 507, 520, 521, 522, 523, 524, 530, 599]],
  [true, false, [503], RETRY_LATER],
  [true, true, [500, 502, 504], RETRY_LATER],
])(
  'temporary: %s, may have cost some: %s: %j',
  async (isPassing, mayHaveAllocated, statuses, headers = {}) => {
    await ask([])
    for (const status of statuses) {
      service.fault({ kind: 'status', status, body: 'says why', headers })
      const call = client.ask(3, new AbortController().signal)
      await expect(call, `${status}`).rejects.toEqual(failed({ isPassing, mayHaveAllocated }))
    }
  },
)

test.each([
  ['<html>\r\n<head><title>502 Bad\r\n Gateway</title></head><body>x', undefined, ': 502 Bad Gateway'],
  ['\n<!DOCTYPE html><title lang="en">down</title>', undefined, ': down'],
  ['<p>down</p>', 'text/html; charset=utf-8', ''],
  ['<p>down</p>', 'application/xhtml+xml', ''],
  [' <p>a < b &amp; c\n', 'text/plain', ': <p>a < b &amp; c'],
])('of an error page, the title is reported; of another text, all: %j', async (body, contentType, said) => {
  const fault: Fault = { kind: 'garbage', status: 502, body, ...(contentType && { contentType }) }
  const error = await ask([fault]).catch((reason: unknown) => reason)
  expect((error as CallFailure).message).toBe(`the service answered 502${said}`)
})

test.each([
  ['as it is', 'softsim-key</title>'],
  ['amid tags', 'soft<wbr>sim<b>-</b>key</title>'],
  ['in entities', 'soft&#115;im-key</title>'],
  ['at its end', `${' '.repeat(199)}softsim-key</title>`],
  ['where it is truncated', `${' '.repeat(20_000)}softsim-key`.slice(0, 20_004)],
])('an error page that shows the key, %s, does not reveal it', async (_, text) => {
  for (const body of [`<html><title>${text}`, `<html>${text}`]) {
    const fault: Fault = { kind: 'garbage', status: 500, body }
    const error = await ask([fault]).catch((reason: unknown) => reason)
    expect(String(error)).not.toMatch(/soft/)
  }
})

test('an error page that never ends counts by its status', async () => {
  const calling = ask([{ kind: 'torn', status: 401 }])
  await expect(calling).rejects.toEqual(failed({ facts: { kind: 'api-key', status: 401 }, isPassing: false }))
})

test('a long message of the service is shortened', async () => {
  const call = ask([{ kind: 'status', status: 500, body: 'x'.repeat(3000) }])
  const error = await call.catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(CallFailure)
  expect((error as CallFailure).message.length).toBeLessThan(500)
})

test('a call that was called off before is not sent, and costs nothing', async () => {
  const call = ask([], {}, AbortSignal.abort())
  const isFree = { isPassing: false, mayHaveAllocated: false }
  await expect(call).rejects.toEqual(failed({ message: 'interrupted', ...isFree }))
  expect(service.requests).toEqual([])
})

test('a call that is called off while it waits for a connection costs nothing', async () => {
  await ask([])
  const other = clientOf({ url: new URL(service.url), apiKey: API_KEY, trace: () => {} })
  const stop = new AbortController()
  const call = other.ask(1, stop.signal)
  stop.abort()
  await expect(call).rejects.toEqual(failed({ isPassing: false, mayHaveAllocated: false }))
  await other.close()
  expect(service.requests).toHaveLength(1)
})
