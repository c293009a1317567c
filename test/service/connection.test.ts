import { once } from 'node:events'
import net, { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import tls from 'node:tls'
import { afterEach, expect, test, vi } from 'vitest'
import { clientOf } from '../../src/service/client.ts'
import { startTunnel } from '../support/tunnel.ts'

/** Nothing listens here (RFC 6335 6: reserved). */
const NOWHERE = '127.0.0.1:1'
const LIMITS = { connect: 3e4, silence: 3e4, connections: 4, idle: 1000, least: { bytes: 1, ms: 3e4 } }
const closing: (() => unknown)[] = []

afterEach(async () => {
  vi.unstubAllEnvs()
  for (const close of closing.splice(0)) await close()
})

/** Why a call through this proxy fails. */
async function failureThrough(proxy: string, limits = LIMITS, signal = new AbortController().signal) {
  vi.stubEnv('HTTPS_PROXY', proxy)
  vi.stubEnv('NO_PROXY', '')
  const url = new URL(`https://${NOWHERE}/`)
  const client = clientOf({ url, apiKey: 'softsim-key', limits, trace: () => {} })
  closing.push(() => client.close())
  return client.ask(1, signal).catch((error: unknown) => error)
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

const failed = (message: RegExp, isPassing: boolean) =>
  expect.objectContaining({
    name: 'CallFailure',
    message: expect.stringMatching(message),
    isPassing,
    // Whatever the proxy does: the request has not gone out.
    mayHaveAllocated: false,
  })

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
  expect(failure).toEqual(failed(/^the proxy refuses the connection \(ECONNREFUSED\)$/, true))
  expect(failure).toHaveProperty('facts', { kind: 'refused-by-proxy' })
})

test.each<[does: string, (socket: Socket) => void, message: RegExp, isPassing: boolean]>([
  ['closes the connection', (at) => at.destroy(), /^the connection to the proxy was (closed|reset) /, true],
  ['never responds', () => {}, /^the proxy did not answer in time /, true],
  ['is none', (at) => at.write('SSH-2.0-OpenSSH\r\n'), /^the proxy sent an invalid HTTP response$/, false],
])('a proxy that %s', async (does, serve, message, isPassing) => {
  const limits = does === 'never responds' ? { ...LIMITS, connect: 50 } : LIMITS
  expect(await failureThrough(await serverThat(serve), limits)).toEqual(failed(message, isPassing))
})

test('a signal ends the wait for a proxy that never responds', async () => {
  const stop = new AbortController()
  const url = await serverThat((socket) => socket.once('data', () => stop.abort()))
  const forever = { ...LIMITS, connect: 600_000, silence: 600_000 }
  expect(await failureThrough(url, forever, stop.signal)).toEqual(failed(/^interrupted$/, false))
})

const PASSING = [408, 429, 500, 502, 599]

test.each([407, 403, 302, 400, ...PASSING].map((status) => [status, PASSING.includes(status)] as const))(
  'a proxy that returns %i: temporary, %s',
  async (status, isPassing) => {
    const tunnel = await startTunnel({ refusals: [status] })
    closing.push(tunnel.close)
    expect(await failureThrough(tunnel.url)).toEqual(failed(RegExp(`\\(${status}\\)$`), isPassing))
  },
)
