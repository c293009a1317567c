import api from 'undici/lib/api/index.js'
import Agent from 'undici/lib/dispatcher/agent.js'
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js'
import EnvHttpProxyAgent from 'undici/lib/dispatcher/env-http-proxy-agent.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import { Failure } from '../failure.ts'

// What the front page of undici does: its proxy agent connects with a method that is put on here.
Object.assign(Dispatcher.prototype, api)

/**
 * How long one address of several is tried before the next one. Node's own quarter of a second gives up addresses
 * that are merely far away.
 */
const ADDRESS_MS = 5000

/** Milliseconds that a connection may spend without a sign of life. */
export interface Timeouts {
  /** Until it is open, TLS included. */
  readonly connect: number
  /** From the request to the headers of the answer, and between two parts of its body. */
  readonly silence: number
}

/** The way to a proxy, or through it, could not be opened: nothing has been sent to the service. */
export class ProxyFailure extends Error {
  /** What the proxy answered, if it did. */
  readonly status: number | undefined

  constructor(details: { status?: number; cause?: unknown }) {
    super('the proxy failed', { cause: details.cause })
    this.name = 'ProxyFailure'
    this.status = details.status
  }
}

/** Connections to a proxy. What goes wrong with them is told apart from what goes wrong behind the proxy. */
function proxyPool(origin: URL, options: Pool.Options): Dispatcher {
  const pool = new Pool(origin, options)
  const connect = pool.connect.bind(pool)
  return Object.assign(pool, {
    async connect(to: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData> {
      const answer = await connect(to).catch((cause: unknown) => {
        throw new ProxyFailure({ cause })
      })
      if (answer.statusCode === 200) return answer
      answer.socket.on('error', () => {}).destroy()
      throw new ProxyFailure({ status: answer.statusCode })
    },
  })
}

/** Connections straight to the service. */
export const directly = (timeouts: Timeouts): Dispatcher => new Agent(optionsOf(timeouts))

/**
 * Connections to the service as HTTPS_PROXY, HTTP_PROXY and NO_PROXY say.
 * @throws {Failure} `usage`
 */
export function throughProxy(timeouts: Timeouts): Dispatcher {
  const options = optionsOf(timeouts)
  try {
    return new EnvHttpProxyAgent({
      ...options,
      connectTimeout: timeouts.connect,
      proxyTls: { autoSelectFamilyAttemptTimeout: ADDRESS_MS } as NonNullable<
        EnvHttpProxyAgent.Options['proxyTls']
      >,
      clientFactory: (origin, more) => proxyPool(origin, { ...more, headersTimeout: timeouts.silence }),
    })
  } catch (error) {
    throw new Failure('usage', 'HTTPS_PROXY or HTTP_PROXY holds no address of a proxy', {
      hint: 'write it like this: http://proxy.example:8080',
      cause: error,
    })
  }
}

const optionsOf = ({ connect, silence }: Timeouts) => ({
  allowH2: false,
  connect: { timeout: connect, rejectUnauthorized: true, autoSelectFamilyAttemptTimeout: ADDRESS_MS },
  headersTimeout: silence,
  bodyTimeout: silence,
})
