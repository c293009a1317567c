import { once } from 'node:events'
import net, { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import tls from 'node:tls'
import { afterEach, describe, expect, inject, test, vi } from 'vitest'
import { adviceOn } from '../../src/advice/advice.ts'
import { Failure } from '../../src/failure.ts'
import { CallFailure } from '../../src/service/call-failure.ts'
import { type Client, clientOf, endpoint, type Limits, redirectTarget } from '../../src/service/client.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { selfSigned } from '../support/keys.ts'
import { REFUSES } from '../support/sandbox.ts'
import { type Fault, type Service, type ServiceOptions, startService } from '../support/service.ts'
import { until } from '../support/softsim.ts'
import { startTunnel } from '../support/tunnel.ts'

const API_KEY = 'softsim-key'
const apiKeys = [{ key: API_KEY, kind: 'softsim' as const, publicKey: inject('keys').publicKey }]
const PATIENT: Limits = {
  ...{ connections: 1, connect: 30_000, silence: 30_000, idle: 30_000 },
  least: { bytes: 1, ms: 30_000 },
}
let service: Service
let client: Client
const closing: (() => unknown)[] = []

afterEach(async () => {
  vi.unstubAllEnvs()
  for (const close of closing.splice(0)) await close()
})

async function start(options: Partial<ServiceOptions> = {}): Promise<void> {
  service = await startService({ apiKeys, ...options })
  closing.push(service.close)
}

function connect(url: URL | string, limits?: Limits): Client {
  const made = clientOf({ url: new URL(url), apiKey: API_KEY, ...(limits && { limits }), trace: () => {} })
  closing.unshift(() => made.close())
  return made
}

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
  await start({ ...(keepAliveMs !== undefined && { keepAliveMs }) })
  service.fault(...faults)
  client = connect(`${service.url}?version=1.0.0`, { ...PATIENT, ...limits })
  return client.ask(3, signal)
}

const failed = (traits: Partial<CallFailure>) => expect.objectContaining({ name: 'CallFailure', ...traits })

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
  await start({ tls: selfSigned(temporaryDirectory()), redirect: true })
  const error = await connect(locate(service), PATIENT)
    .ask(1, new AbortController().signal)
    .catch((reason: unknown) => reason)
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
  const call = connect(REFUSES).ask(1, new AbortController().signal)
  await expect(call).rejects.toEqual(failed({ isPassing: true, mayHaveAllocated: false }))
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
  const stop = new AbortController()
  const call = connect(service.url).ask(1, stop.signal)
  stop.abort()
  await expect(call).rejects.toEqual(failed({ isPassing: false, mayHaveAllocated: false }))
  expect(service.requests).toHaveLength(1)
})

describe('through a proxy', () => {
  /** Nothing listens here (RFC 6335 6: reserved). */
  const NOWHERE = '127.0.0.1:1'
  const LIMITS = { connect: 3e4, silence: 3e4, connections: 4, idle: 1000, least: { bytes: 1, ms: 3e4 } }
  /** Why a call through this proxy fails. */
  async function failureThrough(proxy: string, limits = LIMITS, signal = new AbortController().signal) {
    vi.stubEnv('HTTPS_PROXY', proxy)
    vi.stubEnv('NO_PROXY', '')
    const call = connect(`https://${NOWHERE}/`, limits).ask(1, signal)
    return call.catch((error: unknown) => error)
  }

  /** A server that does this with every connection. */
  async function serverThat(does: (socket: Socket) => void): Promise<string> {
    const sockets: Socket[] = []
    const server: Server = createServer((socket) => {
      sockets.push(socket)
      socket.on('error', () => {})
      does(socket)
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    closing.push(() => {
      for (const socket of sockets) socket.destroy()
      server.close()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  /** Whatever the proxy does: the request has not gone out. */
  const failedBefore = (message: RegExp, isPassing: boolean) =>
    failed({ message: expect.stringMatching(message), isPassing, mayHaveAllocated: false })

  test.each([
    ['the service', ''],
    ['a proxy', `http://${NOWHERE}`],
  ])('a distant address among several of %s gets enough time to connect', async (_, proxy) => {
    // No loopback is far away, and so only what is asked of Node can be seen.
    const connects = [vi.spyOn(net, 'connect'), vi.spyOn(tls, 'connect')]
    await failureThrough(proxy)
    const options = connects.flatMap(({ mock }) => mock.calls.map(([given]) => given))
    vi.restoreAllMocks()
    expect(options).toContainEqual(expect.objectContaining({ autoSelectFamilyAttemptTimeout: 5000 }))
  })

  test('proxy not reachable: the message blames the proxy, not the service', async () => {
    const failure = await failureThrough(`http://${NOWHERE}`)
    expect(failure).toEqual(failedBefore(/^the proxy refuses the connection \(ECONNREFUSED\)$/, true))
    expect(failure).toHaveProperty('facts', { kind: 'refused-by-proxy' })
  })

  test.each<[does: string, (socket: Socket) => void, message: RegExp, isPassing: boolean]>([
    ['closes the connection', (at) => at.destroy(), /^the connection to the proxy was (closed|reset) /, true],
    ['never responds', () => {}, /^the proxy did not answer in time /, true],
    ['is none', (at) => at.write('SSH-2.0-OpenSSH\r\n'), /^the proxy sent an invalid HTTP response$/, false],
  ])('a proxy that %s', async (does, serve, message, isPassing) => {
    const limits = does === 'never responds' ? { ...LIMITS, connect: 50 } : LIMITS
    expect(await failureThrough(await serverThat(serve), limits)).toEqual(failedBefore(message, isPassing))
  })

  test('a signal ends the wait for a proxy that never responds', async () => {
    const stop = new AbortController()
    const url = await serverThat((socket) => socket.once('data', () => stop.abort()))
    const forever = { ...LIMITS, connect: 600_000, silence: 600_000 }
    expect(await failureThrough(url, forever, stop.signal)).toEqual(failedBefore(/^interrupted$/, false))
  })

  const PASSING = [408, 429, 500, 502, 599]

  test.each([407, 403, 302, 400, ...PASSING].map((status) => [status, PASSING.includes(status)] as const))(
    'a proxy that returns %i: temporary, %s',
    async (status, isPassing) => {
      const tunnel = await startTunnel({ refusals: [status] })
      closing.push(tunnel.close)
      expect(await failureThrough(tunnel.url)).toEqual(failedBefore(RegExp(`\\(${status}\\)$`), isPassing))
    },
  )
})

describe('addresses', () => {
  test.each([
    ['https://api.onomondo.com/sims/profiles', 'https://api.onomondo.com/sims/profiles?version=1.2.3'],
    ['https://host/', 'https://host/?version=1.2.3'],
    ['https://host/a?site=7', 'https://host/a?site=7&version=1.2.3'],
    ['https://host/a?site=a%20b&x', 'https://host/a?site=a%20b&x&version=1.2.3'],
    ['https://host/a?version=0.9', 'https://host/a?version=0.9'],
    ['https://host/a#part', 'https://host/a?version=1.2.3'],
    ['http://127.0.0.1:8080/a', 'http://127.0.0.1:8080/a?version=1.2.3'],
    ['http://127.1.2.3/a', 'http://127.1.2.3/a?version=1.2.3'],
    ['http://localhost/a', 'http://localhost/a?version=1.2.3'],
    ['http://[::1]:81/a', 'http://[::1]:81/a?version=1.2.3'],
  ])('%s', (text, expected) => expect(endpoint(text, '1.2.3').href).toBe(expected))

  test.each([
    ['http://example.com/a', /plain http to example\.com/],
    ['http://localhost.example.com/a', /plain http/],
    ['http://notlocalhost/a', /plain http/],
    ['HTTPS://host:81810/a', /^bad-url$/],
    ['http://127.0.0.1.example.com/a', /plain http/],
    ['http://10.0.0.1/a', /plain http/],
    ['http://[::2]/a', /plain http/],
    ['https://host:81810/a', /^bad-url$/],
    ['http://local host/a', /^bad-url$/],
    ['ftp://host/a', /^no-web-url$/],
    ['file:///etc/passwd', /^no-web-url$/],
    ['example.com/sims', /^no-web-url$/],
    ['', /^no-web-url$/],
    ['https://user@host/a', /^user-in-url$/],
    ['https://:secret@host/a', /^user-in-url$/],
  ])('%s is refused', (text, message) => {
    const call = () => endpoint(text, '1.2.3')
    expect(call).toThrow(Failure)
    expect(call).toThrow(message)
    expect(call).not.toThrow(/secret/)
  })

  const from = new URL('https://host:8443/sims/profiles?version=1')

  test.each([
    ['https://host/elsewhere', 'https://host/elsewhere'],
    ['https://host:9443/elsewhere', 'https://host:9443/elsewhere'],
    ['/moved?version=1', 'https://host:8443/moved?version=1'],
    ['//host/moved', 'https://host/moved'],
    ['https://HOST/moved', 'https://host/moved'],
  ])('a redirect to %s is followed', (location, expected) => {
    expect(redirectTarget(from, location)?.href).toBe(expected)
  })

  test.each([
    'http://host:8443/sims/profiles',
    'https://other/sims/profiles',
    'https://host.other/sims/profiles',
    'https://evilhost/sims/profiles',
    'https://evil.host/sims/profiles',
    'https://host@other/',
    '//other/sims/profiles',
    'ftp://host/',
    'https://',
    undefined,
  ])('a redirect to %s is not followed', (location) => expect(redirectTarget(from, location)).toBeUndefined())

  test('a redirect from plain http on this machine is followed only to https on this machine', () => {
    const plain = new URL('http://localhost:8080/a')
    expect(redirectTarget(plain, 'https://localhost:8443/a')?.href).toBe('https://localhost:8443/a')
    expect(redirectTarget(plain, '/b')).toBeUndefined()
  })
})
