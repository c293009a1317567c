/** The one request that the service has, directly or through a proxy. */
import { subscribe } from 'node:diagnostics_channel'
import { isIP, type Socket } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { buildConnector } from 'undici'
import openTunnel from 'undici/lib/api/api-connect.js'
import request from 'undici/lib/api/api-request.js'
import Agent from 'undici/lib/dispatcher/agent.js'
import type Dispatcher from 'undici/lib/dispatcher/dispatcher.js'
import EnvHttpProxyAgent from 'undici/lib/dispatcher/env-http-proxy-agent.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import { Failure } from '../failure.ts'
import { hiding } from '../secret.ts'
import { several } from '../words.ts'
import { CallFailure, networkFailure, ProxyFailure } from './call-failure.ts'
import {
  type Batch,
  batchIn,
  type LeastRate,
  type Response,
  readStart,
  readWhole,
  statusFailure,
} from './response.ts'

const MOST_REDIRECTS = 5
const REDIRECTS = [301, 302, 303, 307, 308]

/** The total time is not limited: giving up an answer that is still arriving only costs profiles. */
export interface Limits extends Bounds {
  readonly least: LeastRate
}

/**
 * A silence of three minutes covers an outage of one minute: TCP doubles its wait before each retransmission, and a
 * retransmission may be lost too. At the least rate, an answer of 1000 profiles would take three hours. Few servers
 * close a connection within a second: one that closes it just when a request is sent makes the profiles look lost.
 */
const LIMITS: Limits = {
  connections: 4,
  connect: 20_000,
  silence: 180_000,
  idle: 1000,
  least: { bytes: 20_000, ms: 300_000 },
}

interface ClientOptions {
  readonly url: URL
  readonly apiKey: string
  readonly limits?: Limits
  readonly trace: (level: 2 | 3, text: string) => void
}

export type Client = ReturnType<typeof clientOf>

/**
 * Sends the one request that the service has. Retries, the rate limit and storage are up to the caller.
 * @throws {Failure} `usage` if a variable of the environment names no HTTP proxy
 */
export function clientOf({ url, apiKey, limits = LIMITS, trace }: ClientOptions) {
  const direct = directly(limits)
  // Plain HTTP goes only to this machine, and therefore never through a proxy.
  const proxied = url.protocol === 'https:' ? throughProxy(limits) : direct
  let to = { url, isRedirected: false }

  /** The CAs of this system are read only when one is unknown: that takes a quarter of the time of `fetch -n 1`. */
  async function sendTrusting(count: number, signal: AbortSignal): Promise<Response> {
    try {
      return await send(count, signal)
    } catch (error) {
      const { facts } = error as CallFailure
      if ((facts?.kind === 'redirected' ? facts.why : facts?.kind) !== 'unknown-ca') throw error
      trustSystem()
      return send(count, signal)
    }
  }

  async function send(count: number, signal: AbortSignal): Promise<Response> {
    const target = to
    const { url } = target
    const parts: Uint8Array[] = []
    let sent = false
    const noteSending = beforeSending(() => {
      sent = true
    })
    const { promise: aborted, reject: abort } = Promise.withResolvers<never>()
    signal.addEventListener('abort', abort, { once: true })
    const began = performance.now()
    trace(2, `asking ${url.origin}${url.pathname} for ${several(count, 'profile')}`)
    try {
      const dispatcher = url.protocol === 'http:' ? direct : proxied
      const sending = request.call(dispatcher.compose(noteSending), {
        origin: url.origin,
        path: url.pathname + url.search,
        method: 'GET',
        headers: { authorization: apiKey, 'content-type': 'application/json', 'accept-encoding': 'identity' },
        body: JSON.stringify({ count }),
        // undici would close the connection after a GET with a body.
        reset: false,
        signal,
      })
      // undici itself notices the signal only once there is a connection.
      const response = await Promise.race([sending, aborted])
      const answered = performance.now()
      const { statusCode: status, headers } = response
      const body = isSuccess(status)
        ? await readWhole(response.body, largestAnswer(count), limits.least, parts)
        : await readStart(response.body, limits.least)
      const ended = performance.now()
      trace(2, `answered ${status}, ${body.length} bytes, ${Math.round(ended - began)} ms`)
      trace(3, `headers ${JSON.stringify(headers)}`)
      return { status, headers, body, bodyMs: ended - answered, totalMs: ended - began }
    } catch (error) {
      const broken = () =>
        signal.aborted
          ? new CallFailure('interrupted', { mayHaveAllocated: sent, cause: error })
          : networkFailure(error, sent, target)
      const failure = error instanceof CallFailure ? error : broken()
      throw parts.length === 0 ? failure : Object.assign(failure, { part: Buffer.concat(parts) })
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  return {
    /**
     * Requests profiles. The service allocates them: the same request sent again returns different ones.
     * @param count 1 to 1000
     * @throws {CallFailure}
     */
    async ask(count: number, signal: AbortSignal): Promise<Batch> {
      for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
        const response = await sendTrusting(count, signal)
        const { status, headers, body } = response
        if (isSuccess(status)) return batchIn(response)
        if (!REDIRECTS.includes(status)) {
          // Masks the key before the text is shortened: a part of the key would not be masked.
          throw statusFailure(status, headers, hiding(apiKey)(body.toString('utf8')), to.url.pathname)
        }
        const target = redirectTarget(to.url, headers['location'])
        if (target === undefined) {
          throw new CallFailure('the service redirects to an address that is not https on the same host', {
            facts: 'redirect',
          })
        }
        to = { url: target, isRedirected: true }
      }
      throw new CallFailure(`the service redirects more than ${MOST_REDIRECTS} times`)
    },

    async close(): Promise<void> {
      await Promise.all([direct.destroy(), proxied.destroy()])
    },
  }
}

/** What another success status brings is paid for, too. Only 204 (No Content) brings nothing. */
const isSuccess = (status: number) => status >= 200 && status < 300 && status !== 204

/** In bytes. Generous enough for 16384-bit keys. */
const largestAnswer = (count: number) => 64 * 1024 + count * 4 * 1024

/** Addresses of this machine. Plain text sent to them does not leave it. */
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/**
 * Adds the version of softsim to the query.
 * @throws {Failure} `usage` if others could read the API key on its way
 */
export function endpoint(text: string, version: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined && /^https?:/i.test(text)) throw new Failure('bad-url')
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new Failure({ kind: 'no-web-url', text })
  if (url.username !== '' || url.password !== '') throw new Failure('user-in-url')
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname))
    throw new Failure('plain-http', `plain http to ${url.hostname} would expose the API key to the network`)
  if (!url.searchParams.has('version')) url.search += `${url.search === '' ? '?' : '&'}version=${version}`
  url.hash = ''
  return url
}

/** @returns undefined if the API key must not follow the redirect */
export function redirectTarget(from: URL, location: string | string[] | undefined): URL | undefined {
  if (typeof location !== 'string' || !URL.canParse(location, from.href)) return undefined
  const to = new URL(location, from.href)
  return to.protocol === 'https:' && to.hostname === from.hostname ? to : undefined
}

type Connector = buildConnector.connector

/** Per address of a host. Node's default of a quarter of a second gives up addresses that are merely far away. */
const ADDRESS_MS = 5000

const CONTINUE = /^(?:HTTP\/1\.\d 100[\s\S]*?\r\n\r\n)+/
const LONGEST_CONTINUE = 1024

/**
 * Skips each 100 (Continue), which a service or a proxy may send unasked (RFC 9110 15.2): undici would close the
 * connection, and the profiles of the answer would be lost. No body has these bytes, and each comes in one piece.
 */
subscribe('undici:client:connected', (message) => {
  const { socket } = message as { socket: Socket }
  const read = socket.read.bind(socket)
  socket.read = (size) => {
    const bytes: Buffer | null = read(size)
    const [interim = ''] = CONTINUE.exec(bytes?.toString('latin1', 0, LONGEST_CONTINUE) ?? '') ?? []
    return bytes?.subarray(interim.length) ?? null
  }
})

/** However long the service keeps a connection without a request, it is closed after this time. */
const LONGEST_IDLE_MS = 10_000

/** Times are in milliseconds. */
interface Bounds {
  /** At once. More requests would wait for one of them. */
  readonly connections: number
  /** Until the connection is open, including TLS; for a proxy, also until it has answered. */
  readonly connect: number
  /** From the request to the headers of the answer, and between two parts of its body. */
  readonly silence: number
  /** How long a connection without a request stays open, unless the service tells how long it keeps it. */
  readonly idle: number
}

export const directly = (bounds: Bounds): Dispatcher => new Agent(optionsOf(bounds))

/** Also trusts the CAs of this system, beside those that Node brings and NODE_EXTRA_CA_CERTS names. */
const trustSystem = (): void =>
  setDefaultCACertificates([...getCACertificates('default'), ...getCACertificates('system')])

/** Calls back when a connection is about to send the request: from then on it may cost profiles. */
const beforeSending =
  (tell: () => void): Dispatcher.DispatcherComposeInterceptor =>
  (dispatch) =>
  (options, handler) => {
    const start = handler.onRequestStart?.bind(handler)
    return dispatch(
      options,
      Object.assign(handler, {
        onRequestStart(controller: Dispatcher.DispatchController, context: unknown) {
          start?.(controller, context)
          // One that was called off while it waited for a connection ends here, unsent.
          if (!controller.aborted) tell()
        },
      }),
    )
  }

const optionsOf = ({ connections, connect, silence, idle }: Bounds) => ({
  connections,
  allowH2: false,
  connect: { timeout: connect, rejectUnauthorized: true, autoSelectFamilyAttemptTimeout: ADDRESS_MS },
  headersTimeout: silence,
  bodyTimeout: silence,
  keepAliveTimeout: idle,
  keepAliveMaxTimeout: LONGEST_IDLE_MS,
})

/** TLS names no IP address (RFC 6066 3), but undici does. Node would print a warning. */
const namingNoIp =
  (connect: Connector): Connector =>
  ({ servername = '', ...to }, done) =>
    connect({ ...to, servername: isIP(servername) ? '' : servername }, done)

/** Connections to a proxy. Their errors must be distinguishable from errors behind the proxy. */
function proxyPool(origin: URL, options: Pool.Options): Dispatcher {
  const pool = new Pool(origin, options)
  return Object.assign(pool, {
    async connect(to: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData> {
      const answer = await openTunnel.call(pool, to).catch((cause: unknown) => {
        throw new ProxyFailure({ cause })
      })
      if (answer.statusCode === 200) return answer
      answer.socket.on('error', () => {}).destroy()
      throw new ProxyFailure({ status: answer.statusCode })
    },
  })
}

/**
 * Follows HTTPS_PROXY, ALL_PROXY, HTTP_PROXY and NO_PROXY.
 * @throws {Failure} `usage`
 */
function throughProxy(bounds: Bounds): Dispatcher {
  const options = optionsOf(bounds)
  const { name, proxy } = chosenProxy()
  if (/^\s*socks/i.test(proxy)) {
    const facts = { kind: 'socks', variable: name } as const
    throw new Failure(facts, `${name} names a SOCKS proxy, and softsim can use only HTTP proxies`)
  }
  try {
    return new EnvHttpProxyAgent({
      ...options,
      httpProxy: proxy,
      httpsProxy: proxy,
      connectTimeout: bounds.connect,
      proxyTls: { autoSelectFamilyAttemptTimeout: ADDRESS_MS } as NonNullable<
        EnvHttpProxyAgent.Options['proxyTls']
      >,
      clientFactory: (origin, { connect }: { connect: Connector }) =>
        proxyPool(origin, { connect: namingNoIp(connect), headersTimeout: bounds.connect }),
    })
  } catch (error) {
    throw new Failure('bad-proxy', `${name} is not a valid proxy address`, error)
  }
}

/** The proxy for https, and the variable that names it. An empty one stands for no proxy. */
function chosenProxy(env: NodeJS.ProcessEnv = process.env): { name: string; proxy: string } {
  const names = ['https_proxy', 'all_proxy', 'http_proxy'].map((lower) =>
    env[lower] === undefined ? lower.toUpperCase() : lower,
  )
  const name = names.find((each) => env[each]) ?? ''
  return { name, proxy: env[name] ?? '' }
}
