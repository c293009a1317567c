import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import net, { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import tls from 'node:tls'
import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, inject, test, vi } from 'vitest'
import { UsageError } from '../../src/failure.ts'
import { CallFailure } from '../../src/service/call-failure.ts'
import { type Client, clientOf, endpoint } from '../../src/service/client.ts'
import type { Messages } from '../../src/words.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { selfSigned } from '../support/keys.ts'
import { REFUSES } from '../support/sandbox.ts'
import { type Fault, type Service, type ServiceOptions, startService } from '../support/service.ts'
import { until } from '../support/softsim.ts'
import { startTunnel, type TunnelOptions } from '../support/tunnel.ts'

const API_KEY = 'softsim-key'
const apiKeys = [{ key: API_KEY, kind: 'softsim' as const, publicKey: inject('keys').publicKey }]
const PATIENT = { connect: 30_000, silence: 30_000, idle: 30_000 }
const never = new AbortController().signal
let service: Service
let client: Client
const closing: (() => unknown)[] = []

afterEach(async () => {
  vi.unstubAllEnvs()
  for (const close of closing.splice(0)) await close()
})

async function start(options: Partial<ServiceOptions> = {}): Promise<void> {
  service = await startService({ apiKeys, allProfilesAlike: true, ...options })
  closing.push(service.close)
}

function connect(url: URL | string, limits = PATIENT, trace: Messages['tell'] = () => {}): Client {
  const made = clientOf(new URL(url), API_KEY, trace, limits)
  closing.unshift(() => made.close())
  return made
}

interface Setting extends Partial<typeof PATIENT> {
  /** What the service promises. */
  keepAliveMs?: number
}

/** Asks a service that shows these faults for three profiles. */
async function ask(faults: Fault[], { keepAliveMs, ...limits }: Setting = {}, signal = never) {
  await start({ ...(keepAliveMs !== undefined && { keepAliveMs }) })
  service.fault(...faults)
  client = connect(`${service.url}?version=1.0.0`, { ...PATIENT, ...limits })
  return client.ask(3, signal)
}

/** Why a call fails. */
async function failureOf(call: Promise<unknown>): Promise<CallFailure> {
  const failure = await call.catch((error: unknown) => error)
  if (failure instanceof CallFailure) return failure
  throw new Error(`no failure: ${failure}`)
}

const PASSING = { isPassing: true, mayHaveAllocated: false }

test('the request goes out as it is written down, and forbids an answer from a cache', async () => {
  expect((await ask([])).profiles).toHaveLength(3)
  const [{ method, headers, count, query } = {}] = service.requests
  expect({ method, count, version: query?.get('version') }).toEqual({
    method: 'GET',
    count: 3,
    version: '1.0.0',
  })
  expect(headers).toMatchObject({
    ...{ authorization: API_KEY, 'content-type': 'application/json', 'accept-encoding': 'identity' },
    'cache-control': 'no-store, no-cache',
  })
})

/** In a thread of its own: it answers, and closes the connection when `state[0]` says so. Then it sets `state[1]`. */
const CLOSING_SERVICE = `
  const { parentPort, workerData: state } = require('node:worker_threads')
  const server = require('node:http').createServer((request, response) => {
    request.resume().once('end', () => response.end('{"profiles":[{}]}', async () => {
      await Atomics.waitAsync(state, 0, 0).value
      request.socket.end(() => {
        Atomics.store(state, 1, 1)
        Atomics.notify(state, 1)
      })
    }))
  })
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`

describe('a connection', () => {
  const again = () => client.ask(1, never)
  const connections = () => new Set(service.requests.map(({ connection }) => connection)).size

  test('is used again, also after an error', async () => {
    await ask([])
    service.fault({ kind: 'status', status: 503 })
    await failureOf(again())
    for (let count = 0; count < 4; count++) await again()
    expect(connections()).toBe(1)
  })

  test('that the service closes while the event loop is held up is not used again', async () => {
    const state = new Int32Array(new SharedArrayBuffer(8))
    const worker = new Worker(CLOSING_SERVICE, { eval: true, workerData: state })
    closing.push(() => worker.terminate())
    const [port] = await once(worker, 'message')
    client = connect(`http://127.0.0.1:${port}/`)
    await client.ask(1, never)
    // As when profiles are stored, the event loop has looked at its sockets, and does so no more before the next request.
    await stat('.')
    Atomics.store(state, 0, 1)
    Atomics.notify(state, 0)
    Atomics.wait(state, 1, 0)
    await expect(client.ask(1, never)).resolves.toMatchObject({ profiles: [] })
  })

  test('that the service has closed is not used again', async () => {
    await ask([{ kind: 'close-after' }])
    await until(() => service.openConnections() === 0)
    await again()
    expect(connections()).toBe(2)
  })

  test('is closed when it was idle for long', async () => {
    await ask([], { idle: 20, keepAliveMs: 0 })
    await until(() => service.openConnections() === 0)
  })

  test('is kept as long as the service promises to keep it', async () => {
    await ask([], { idle: 1, keepAliveMs: 600_000 })
    await sleep(50)
    await again()
    expect(connections()).toBe(1)
  })
})

test.each<[string, Fault]>([
  ['keeps it waiting', { kind: 'delay', ms: 60_000 }],
  ['stops during the answer', { kind: 'drip', ms: 60_000 }],
])('a service that %s is given up; that may pass, and may have cost profiles', async (_, fault) => {
  const { traits } = await failureOf(ask([fault], { silence: 50 }))
  expect(traits).toMatchObject({ isPassing: true, mayHaveAllocated: true })
})

test('an answer that breaks off brings its complete profiles', async () => {
  const { traits } = await failureOf(ask([{ kind: 'torn' }]))
  expect(traits).toMatchObject({ isPassing: true, mayHaveAllocated: true })
  expect(traits.profiles).toEqual([expect.objectContaining({ iccid: [...service.allocated.keys()][0] })])
})

test('a letter that arrives in two parts is one letter', async () => {
  const [begin, rest] = ['no list: \xc3', '\xa4'].map((part) => `${part.length.toString(16)}\r\n${part}\r\n`)
  const server = createServer((socket) => {
    const answer = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${begin}${rest}0\r\n\r\n`
    socket.once('data', () => socket.end(answer, 'latin1'))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  closing.push(() => server.close())
  const { port } = server.address() as AddressInfo
  const told: unknown[] = []
  const trace = (...line: [level: number, text: string]) => void told.push(line)
  const made = connect(`http://127.0.0.1:${port}/a?b=c`, PATIENT, trace)
  const { message } = await failureOf(made.ask(1, never))
  expect(message).toMatch(/: no list: \u00e4$/)
  // What is told counts bytes, not letters, and has no query.
  expect(told).toEqual([
    [2, `asking http://127.0.0.1:${port}/a for 1 profile`],
    [2, expect.stringMatching(/^answered 200, 11 bytes, \d+ ms$/)],
    [3, 'headers {"transfer-encoding":"chunked"}'],
  ])
})

test('a connection that is refused, and a call that was called off before, cost nothing', async () => {
  const refused = await failureOf(connect(REFUSES).ask(1, never))
  expect(refused.traits).toMatchObject({ ...PASSING, isRefused: true })
  expect(refused.message).toBe('the service refuses the connection (ECONNREFUSED)')
  const off = await failureOf(ask([], {}, AbortSignal.abort()))
  expect([off.message, off.traits.mayHaveAllocated, service.requests]).toEqual(['interrupted', false, []])
})

test('a call that is called off while it waits for a connection costs nothing', async () => {
  await ask([])
  const stop = new AbortController()
  const call = connect(service.url).ask(1, stop.signal)
  stop.abort()
  expect((await failureOf(call)).traits.mayHaveAllocated).toBe(false)
  expect(service.requests).toHaveLength(1)
})

test('a call that is called off while its connection is being opened is not sent then, either', async () => {
  await start()
  const stop = new AbortController()
  // All that is done at once is done by then, and no socket has been heard of yet.
  const made = connect(`${service.url}?version=1.0.0`, PATIENT, () => process.nextTick(() => stop.abort()))
  const { message, traits } = await failureOf(made.ask(3, stop.signal))
  expect([message, traits.mayHaveAllocated]).toEqual(['interrupted', false])
  await made.ask(2, never)
  expect(service.requests.map(({ count }) => count)).toEqual([2])
})

test('a certificate that is not known: no key is sent', async () => {
  await start({ tls: selfSigned(temporaryDirectory()) })
  const { message, hint } = await failureOf(connect(service.httpsUrl ?? '').ask(1, never))
  expect(message).toBe('the certificate of the service is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT)')
  expect(hint).toContain('NODE_EXTRA_CA_CERTS')
  expect(service.requests).toEqual([])
})

describe('through a proxy', () => {
  /** Nothing listens here (RFC 6335 6: reserved). */
  const NOWHERE = '127.0.0.1:1'

  async function failureThrough(proxy: string, limits = PATIENT, signal = never, variable = 'HTTPS_PROXY') {
    vi.stubEnv('NO_PROXY', '')
    vi.stubEnv(variable, proxy)
    return failureOf(connect(`https://${NOWHERE}/`, limits).ask(1, signal))
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

  test.each<[does: string, (socket: Socket) => void, message: RegExp, isPassing: boolean]>([
    [
      'closes the connection',
      (socket) => socket.destroy(),
      /^the connection to PEER was (closed|reset) /,
      true,
    ],
    ['never answers', () => {}, /^PEER did not answer in time /, true],
    [
      'is none',
      (socket) => socket.write('SSH-2.0-OpenSSH\r\n'),
      /^the request failed: Response does not match the HTTP\/1\.1 protocol/,
      false,
    ],
  ])('one that %s: the message names the variable', async (does, serve, expected, isPassing) => {
    const limits = does === 'never answers' ? { ...PATIENT, connect: 50 } : PATIENT
    const { message, hint, traits } = await failureThrough(await serverThat(serve), limits)
    expect(message.replace('the proxy in HTTPS_PROXY or the service', 'PEER')).toMatch(expected)
    expect(hint).toBe(
      'check HTTPS_PROXY, whether that proxy is running, the URL of the service, and the network of this machine',
    )
    expect([traits.isPassing ?? false, traits.mayHaveAllocated]).toEqual([isPassing, false])
  })

  test.each(['https_proxy', 'ALL_PROXY', 'HTTP_PROXY'])('%s is named where it is set', async (variable) => {
    const { message } = await failureThrough(`http://${NOWHERE}`, PATIENT, never, variable)
    expect(message).toBe(`the proxy in ${variable} or the service refuses the connection (ECONNREFUSED)`)
  })

  test('blanks round its address are none of it', async () => {
    const { message } = await failureThrough(` http://${NOWHERE} `)
    expect(message).toBe('the proxy in HTTPS_PROXY or the service refuses the connection (ECONNREFUSED)')
  })

  test('the certificate of a proxy is checked against its own address', async () => {
    const connecting = vi.spyOn(tls, 'connect')
    await failureThrough('https://127.0.0.1:1')
    await failureThrough('https://[::1]:1')
    await failureThrough('https://localhost:1')
    const given = connecting.mock.calls.map(([to]) => to as tls.ConnectionOptions)
    vi.restoreAllMocks()
    expect(given.map(({ host, servername }) => [host, servername])).toEqual([
      ['127.0.0.1', null],
      ['::1', null],
      ['localhost', 'localhost'],
    ])
  })

  test('https:// for a proxy that takes http://', async () => {
    const tunnel = await startTunnel()
    closing.push(tunnel.close)
    const { message, hint } = await failureThrough(tunnel.url.replace('http:', 'HTTPS:'))
    expect(message).toMatch(/^the TLS connection to the proxy in HTTPS_PROXY or the service failed \(E\w+\)$/)
    expect(hint).toBe(
      'HTTPS_PROXY names its proxy with https://, and most proxies take http://: try that, and check host and port',
    )
  })

  test('a signal ends the wait for a proxy that never answers', async () => {
    const stop = new AbortController()
    const url = await serverThat((socket) => socket.once('data', () => stop.abort()))
    const { message, traits } = await failureThrough(url, PATIENT, stop.signal)
    expect([message, traits.mayHaveAllocated]).toEqual(['interrupted', false])
  })

  async function refusalBy(options: TunnelOptions) {
    const tunnel = await startTunnel(options)
    closing.push(tunnel.close)
    return failureThrough(tunnel.url)
  }

  test.each([408, 429, 500, 502, 599, 403, 302, 400])(
    'one that answers %i: nothing was sent',
    async (status) => {
      const { message, traits } = await refusalBy({ refusals: [status] })
      const isPassing = status >= 500 || [408, 429].includes(status)
      expect(message).toMatch(
        RegExp(`^the proxy in HTTPS_PROXY (refuses to|can't) connect .* \\(${status}\\)$`),
      )
      expect([traits.isPassing, traits.mayHaveAllocated ?? false]).toEqual([isPassing, false])
    },
  )

  test.each<[logins: string[], expected: RegExp]>([
    [[], /^the proxy in HTTPS_PROXY wants a user name and a password \(407\)$/],
    [['Basic realm="a, b"', 'NTLM'], /wants a user name/],
    [['Negotiate, NTLM'], /^the proxy in HTTPS_PROXY takes only a login by Negotiate or NTLM \(407\)$/],
    [['NTLM', 'Negotiate TlRMTVNTUAAC=='], /takes only a login by NTLM or Negotiate \(407\)$/],
    [['Digest realm="office", nonce="x", qop="auth"'], /takes only a login by Digest \(407\)$/],
  ])('one that offers the logins %j', async (logins, expected) => {
    const { message, hint } = await refusalBy({ refusals: [407], logins })
    expect(message).toMatch(expected)
    expect(hint).toContain('HTTPS_PROXY')
  })

  test('what is wrong with the address of a proxy is said with what helps, and SOCKS by its name', () => {
    const saidOf = (proxy: string) => {
      vi.stubEnv('all_proxy', proxy)
      try {
        return connect(`https://${NOWHERE}/`)
      } catch (error) {
        return error instanceof UsageError ? [error.message, error.hint] : error
      }
    }
    const hint =
      'use the form http://proxy.example:8080, with % in a password as %25; without a proxy, remove all_proxy'
    for (const name of ['https_proxy', 'HTTPS_PROXY']) vi.stubEnv(name, '')
    for (const scheme of ['socks5', 'SOCKS4a', 'socks'])
      expect(saidOf(`${scheme}://127.0.0.1:1`)).toEqual([
        'all_proxy is not the address of an HTTP proxy, but of a SOCKS proxy',
        hint,
      ])
    for (const proxy of ['http://p:1/#a', 'ftp://p:1', 'http://a%zz@p:1'])
      expect(saidOf(proxy)).toEqual(['all_proxy is not the address of an HTTP proxy', hint])
    for (const proxy of ['HTTPS://p:1', 'http://a%2Fb:c@p:1', ' http://p:1\t'])
      expect(saidOf(proxy)).toHaveProperty('ask')
  })

  test.each([
    'socks5://127.0.0.1:1',
    'proxy.example:8080',
    '"http://proxy.example:8080"',
    'http://',
    'http://a b',
    'http://bob:s3cret%pw@proxy.example:8080',
  ])('what is no address of an HTTP proxy is refused at once: %s', (proxy) => {
    vi.stubEnv('https_proxy', proxy)
    expect(() => connect(`https://${NOWHERE}/`)).toThrow(UsageError)
    expect(() => connect(`https://${NOWHERE}/`)).toThrow(/^https_proxy is not the address of an HTTP proxy/)
    expect(() => connect(`http://${NOWHERE}/`)).not.toThrow()
  })

  test('none is used if its variable is empty in lower case, whatever the other one says', () => {
    vi.stubEnv('HTTPS_PROXY', 'socks5://127.0.0.1:1')
    vi.stubEnv('https_proxy', '')
    for (const name of ['all_proxy', 'http_proxy']) vi.stubEnv(name, '')
    expect(() => connect(`https://${NOWHERE}/`)).not.toThrow()
  })
})

describe('addresses', () => {
  test.each([
    ['https://api.onomondo.com/sims/profiles', 'https://api.onomondo.com/sims/profiles?version=1.2.3'],
    ['https://host/', 'https://host/?version=1.2.3'],
    ['https://host/a?site=a%20b&x', 'https://host/a?site=a%20b&x&version=1.2.3'],
    ['https://host/a?version=0.9', 'https://host/a?version=0.9'],
    ['http://127.1.2.3/a', 'http://127.1.2.3/a?version=1.2.3'],
    ['http://localhost:8080/a', 'http://localhost:8080/a?version=1.2.3'],
    ['http://[::1]:81/a', 'http://[::1]:81/a?version=1.2.3'],
    ['HTTPS://HOST/A?', 'https://host/A?version=1.2.3'],
    ['https://host/a?Version=2', 'https://host/a?Version=2&version=1.2.3'],
  ])('%s', (text, expected) => expect(endpoint(text, '1.2.3').href).toBe(expected))

  test.each([
    ...[
      'example.com',
      'localhost.example.com',
      'notlocalhost',
      '127.0.0.1.example.com',
      '10.0.0.1',
      '[::2]',
    ].map((host) => [`http://${host}/a`, /would send the API key as plain text to/] as const),
    ...['https://host:81810/a', 'http://local host/a', 'ftp://host/a', 'example.com/sims', ''].map(
      (text) => [text, /is not a complete http or https URL/] as const,
    ),
    ...['https://user@host/a', 'https://:secret@host/a'].map((text) => [text, /has a user name/] as const),
  ])('%s is refused', (text, message) => {
    const call = () => endpoint(text, '1.2.3')
    expect(call).toThrow(UsageError)
    expect(call).toThrow(message)
    expect(call).not.toThrow(/secret/)
  })
})
