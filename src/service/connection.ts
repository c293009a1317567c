/** Connections to the service, directly or through a proxy. */
import { subscribe } from 'node:diagnostics_channel'
import { isIP, type Socket } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { buildConnector } from 'undici'
import openTunnel from 'undici/lib/api/api-connect.js'
import Agent from 'undici/lib/dispatcher/agent.js'
import type Dispatcher from 'undici/lib/dispatcher/dispatcher.js'
import EnvHttpProxyAgent from 'undici/lib/dispatcher/env-http-proxy-agent.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import { Failure } from '../failure.ts'

type Connector = buildConnector.connector

/** Per address of a host. Node's default of a quarter of a second gives up addresses that are merely far away. */
const ADDRESS_MS = 5000

const CONTINUE = /^(?:HTTP\/1\.\d 100[\s\S]*?\r\n\r\n)+/
const LONGEST_CONTINUE = 1024

/** However long the service keeps a connection without a request, it is closed after this time. */
const LONGEST_IDLE_MS = 10_000

/** Times are in milliseconds. */
export interface Bounds {
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
export const trustSystem = (): void =>
  setDefaultCACertificates([...getCACertificates('default'), ...getCACertificates('system')])

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

/** Calls back when a connection is about to send the request: from then on it may cost profiles. */
export const beforeSending =
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

/** No connection to the proxy, or through it, could be opened. Nothing was sent to the service. */
export class ProxyFailure extends Error {
  readonly status: number | undefined

  constructor(details: { status?: number; cause?: unknown }) {
    super('the proxy failed', { cause: details.cause })
    this.name = 'ProxyFailure'
    this.status = details.status
  }
}

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
export function throughProxy(bounds: Bounds): Dispatcher {
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
