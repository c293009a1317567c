import { isIP } from 'node:net'
import type { buildConnector } from 'undici'
import openTunnel from 'undici/lib/api/api-connect.js'
import type Dispatcher from 'undici/lib/dispatcher/dispatcher.js'
import EnvHttpProxyAgent from 'undici/lib/dispatcher/env-http-proxy-agent.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import { Failure } from '../failure.ts'
import { ADDRESS_MS, type Bounds, optionsOf } from './connection.ts'

type Connector = buildConnector.connector

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
        proxyPool(origin, { connect: namingNoIp(connect), headersTimeout: bounds.silence }),
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
