/** The one request that the service has, directly or through a proxy. Only this file uses undici. */
import { isIP } from 'node:net'
import { StringDecoder } from 'node:string_decoder'
import { setImmediate as turn } from 'node:timers/promises'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { Agent, type buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici'
import { UsageError } from '../failure.ts'
import { hiding, type Messages, several } from '../words.ts'
import { type Answer, type Batch, cacheFailure, profilesIn, readAnswer } from './answer.ts'
import { CallFailure, isUnknownCa, networkFailure, proxyRefusal } from './call-failure.ts'

/** In milliseconds. The total time is not limited: to give up an answer that still arrives only costs profiles. */
const LIMITS = {
  /** Until the connection is open, including TLS. */
  connect: 20_000,
  /** Until an answer begins, and between two parts of it: an outage of one minute, and TCP doubles its waits. */
  silence: 180_000,
  /** How long a connection without a request stays open. One that a server closes just then makes profiles look lost. */
  idle: 1000,
}

export type Client = ReturnType<typeof clientOf>

/**
 * Retries, the rate limit and storage are up to the caller.
 * @throws {UsageError} if a variable of the environment names no HTTP proxy
 */
export function clientOf(url: URL, apiKey: string, trace: Messages['tell'], limits = LIMITS) {
  const { dispatcher, variable } = wayTo(url, limits)
  const hide = hiding(apiKey)
  const fixed = {
    ...{ origin: url.origin, path: url.pathname + url.search, method: 'GET' as const },
    // Without this, undici would close the connection after a GET with a body.
    reset: false,
    headers: {
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      // An answer of a cache would give two devices one identity.
      'cache-control': 'no-store, no-cache',
      authorization: apiKey,
    },
  }

  async function send(count: number, signal: AbortSignal): Promise<Answer> {
    // Storing may have held up the event loop for seconds. Only in its next turn undici sees which connections have been
    // idle for too long, and which the service has closed: a request on one of them counts as sent, and as lost.
    await turn()
    const decoder = new StringDecoder('utf8')
    let [hasBegun, body] = [false, '']
    let head: Pick<Answer, 'status' | 'headers'> = { status: 0, headers: {} }
    const { promise: answered, resolve, reject } = Promise.withResolvers<unknown>()
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(controller) {
        // A request that was called off while it waited for a connection ends here, unsent.
        if (signal.aborted) controller.abort(new Error('interrupted'))
        hasBegun = !signal.aborted
      },
      onResponseStart(controller, status, headers) {
        head = { status, headers }
        const failure = cacheFailure(status, headers)
        if (failure !== undefined) controller.abort(failure)
      },
      onResponseData(_, part) {
        body += decoder.write(part)
      },
      onResponseEnd: resolve,
      onResponseError: (_, error) => reject(error),
    }
    signal.addEventListener('abort', reject)
    const began = performance.now()
    trace(2, `asking ${url.origin}${url.pathname} for ${several(count, 'profile')}`)
    try {
      signal.throwIfAborted()
      dispatcher.dispatch({ ...fixed, body: JSON.stringify({ count }) }, handler)
      await answered
      // Only now undici frees the connection, and begins to count how long it is idle.
      await turn()
      trace(
        2,
        `answered ${head.status}, ${Buffer.byteLength(body)} bytes, ${Math.round(performance.now() - began)} ms`,
      )
      trace(3, `headers ${JSON.stringify(head.headers)}`)
      return { ...head, body, hide }
    } catch (error) {
      if (error instanceof CallFailure) throw error
      const traits = { mayHaveAllocated: hasBegun, profiles: profilesIn(body) }
      if (signal.aborted) throw new CallFailure('interrupted', 'try again', traits, error)
      throw networkFailure(error, traits, variable)
    } finally {
      signal.removeEventListener('abort', reject)
    }
  }

  return {
    /** Requests up to 1000 profiles. The service allocates them: the same request again brings others. */
    async ask(count: number, signal: AbortSignal): Promise<Batch> {
      const answer = await send(count, signal).catch((error: unknown) => {
        if (!isUnknownCa(error)) throw error
        // To read the CAs of the system takes a quarter of the time of `fetch -n 1`, and few need them.
        setDefaultCACertificates([...getCACertificates('default'), ...getCACertificates('system')])
        return send(count, signal)
      })
      return readAnswer(answer, url)
    },

    close: (): Promise<void> => dispatcher.destroy(),
  }
}

/** Addresses of this machine. Plain text sent to them does not leave it. */
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/**
 * Adds the version of softsim to the query.
 * @throws {UsageError} if others could read the API key on its way
 */
export function endpoint(text: string, version: string): URL {
  const wrong = (what: string, hint: string) => new UsageError(`the URL of the service ${what}`, hint)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw wrong('is not a complete http or https URL', 'use the form https://api.onomondo.com/sims/profiles')
  if (url.username !== '' || url.password !== '')
    throw wrong('has a user name or a password in it', 'remove them, and set SOFTSIM_API_KEY to the API key')
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname))
    throw wrong(
      `would send the API key as plain text to ${url.hostname}`,
      'use https; plain http is allowed only to this machine (127.0.0.1, ::1, localhost)',
    )
  if (!url.searchParams.has('version')) url.search += `${url.search === '' ? '?' : '&'}version=${version}`
  return url
}

/** Follows HTTPS_PROXY, ALL_PROXY, HTTP_PROXY and NO_PROXY. */
function wayTo(url: URL, { connect, silence, idle }: typeof LIMITS) {
  // Per address of a host, Node's default of a quarter of a second gives up addresses that are only far away.
  const own = { timeout: connect, rejectUnauthorized: true, autoSelectFamilyAttemptTimeout: 5000 }
  const timeouts = { headersTimeout: silence, bodyTimeout: silence, keepAliveTimeout: idle }
  const options = { ...timeouts, allowH2: false, connect: own, keepAliveMaxTimeout: 10_000 }
  // Plain HTTP goes only to this machine, and therefore never through a proxy.
  const chosen = url.protocol === 'http:' ? undefined : chosenProxy()
  if (chosen === undefined) return { dispatcher: new Agent(options) }
  const { variable, proxy } = chosen
  const clientFactory = (origin: URL, given: { connect: buildConnector.connector }) => {
    // TLS names no IP address (RFC 6066 3), and Node would warn of one. The certificate is checked against `host` then.
    const connectTo: buildConnector.connector = (to, done) =>
      given.connect({ ...to, ...(isIP(to.hostname) && { servername: '' }) }, done)
    const pool = new Pool(origin, { connect: connectTo, headersTimeout: connect })
    const open = pool.connect.bind(pool) as (to: object) => Promise<Dispatcher.ConnectData>
    return Object.assign(pool, {
      async connect(to: object) {
        const answer = await open(to)
        if (answer.statusCode === 200) return answer
        answer.socket.on('error', () => {}).destroy()
        throw proxyRefusal(answer.statusCode, String(answer.headers['proxy-authenticate'] ?? ''), variable)
      },
    })
  }
  const tls = { connectTimeout: connect, proxyTls: own, requestTls: own }
  const proxies = { httpProxy: proxy, httpsProxy: proxy, clientFactory, ...tls }
  return { dispatcher: new EnvHttpProxyAgent({ ...options, ...proxies }), variable }
}

/** The proxy for https, and the variable that names it. An empty one stands for no proxy. */
function chosenProxy(env: NodeJS.ProcessEnv = process.env) {
  const variable = ['https_proxy', 'all_proxy', 'http_proxy']
    .map((lower) => (env[lower] === undefined ? lower.toUpperCase() : lower))
    .find((each) => env[each])
  if (variable === undefined) return undefined
  const proxy = env[variable]?.trim() ?? ''
  const isSound = URL.canParse(proxy) && !/#|%(?![\da-f]{2})/i.test(proxy)
  if (/^https?:\/\/./i.test(proxy) && isSound) return { variable, proxy }
  throw new UsageError(
    `${variable} is not the address of an HTTP proxy${/^socks/i.test(proxy) ? ', but of a SOCKS proxy' : ''}`,
    `use the form http://proxy.example:8080, with % in a password as %25; without a proxy, remove ${variable}`,
  )
}
