import request from 'undici/lib/api/api-request.js'
import type Dispatcher from 'undici/lib/dispatcher/dispatcher.js'
import { hiding } from '../secret.ts'
import { several } from '../words.ts'
import { CallFailure, networkFailure, statusFailure } from './call-failure.ts'
import { type Bounds, beforeSending, directly, trustSystem } from './connection.ts'
import { throughProxy } from './proxy.ts'

import { type Batch, batchIn, type LeastRate, type Response, readStart, readWhole } from './response.ts'
import { redirectTarget } from './url.ts'

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

/** Sends the one request that the service has. Retries, the rate limit and storage are up to the caller. */
export class Client {
  #url: URL
  #isRedirected = false
  readonly #apiKey: string
  readonly #least: LeastRate
  readonly #trace: ClientOptions['trace']
  readonly #direct: Dispatcher
  readonly #proxied: Dispatcher

  constructor({ url, apiKey, limits = LIMITS, trace }: ClientOptions) {
    this.#url = url
    this.#apiKey = apiKey
    this.#least = limits.least
    this.#trace = trace
    this.#direct = directly(limits)
    this.#proxied = url.protocol === 'https:' ? throughProxy(limits) : this.#direct
  }

  /**
   * Requests profiles. The service allocates them: the same request sent again returns different ones.
   * @param count 1 to 1000
   * @throws {CallFailure}
   */
  async ask(count: number, signal: AbortSignal): Promise<Batch> {
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
      const response = await this.#sendTrusting(count, signal)
      if (response.status === 200) return batchIn(response)
      if (!REDIRECTS.includes(response.status)) throw this.#failureOf(response)
      const target = redirectTarget(this.#url, response.headers['location'])
      if (target === undefined) {
        throw new CallFailure('the service redirects to an address that is not https on the same host', {
          facts: 'redirect',
        })
      }
      this.#url = target
      this.#isRedirected = true
    }
    throw new CallFailure(`the service redirects more than ${MOST_REDIRECTS} times`)
  }

  async close(): Promise<void> {
    await Promise.all([this.#direct.destroy(), this.#proxied.destroy()])
  }

  /** Masks the key before the text is shortened: a part of the key would not be masked. */
  #failureOf({ status, headers, body }: Response): CallFailure {
    return statusFailure(status, headers, hiding(this.#apiKey)(body.toString('utf8')), this.#url.pathname)
  }

  /** The CAs of this system are read only when one is unknown: that takes a quarter of the time of `fetch -n 1`. */
  async #sendTrusting(count: number, signal: AbortSignal): Promise<Response> {
    try {
      return await this.#send(count, signal)
    } catch (error) {
      const { facts } = error as CallFailure
      if ((facts?.kind === 'redirected' ? facts.why : facts?.kind) !== 'unknown-ca') throw error
      trustSystem()
      return this.#send(count, signal)
    }
  }

  async #send(count: number, signal: AbortSignal): Promise<Response> {
    const url = this.#url
    let sent = false
    const noteSending = beforeSending(() => {
      sent = true
    })
    const began = performance.now()
    this.#trace(2, `asking ${url.origin}${url.pathname} for ${several(count, 'profile')}`)
    try {
      // Plain HTTP goes only to this machine, and therefore never through a proxy.
      const dispatcher = url.protocol === 'http:' ? this.#direct : this.#proxied
      const response = await request.call(dispatcher.compose(noteSending), {
        origin: url.origin,
        path: url.pathname + url.search,
        method: 'GET',
        headers: { authorization: this.#apiKey, 'content-type': 'application/json' },
        body: JSON.stringify({ count }),
        // undici would close the connection after a GET with a body.
        reset: false,
        signal,
      })
      const answered = performance.now()
      const { statusCode: status, headers } = response
      const body =
        status === 200
          ? await readWhole(response.body, largestAnswer(count), this.#least)
          : await readStart(response.body, this.#least)
      const ended = performance.now()
      this.#trace(2, `answered ${status}, ${body.length} bytes, ${Math.round(ended - began)} ms`)
      this.#trace(3, `headers ${JSON.stringify(headers)}`)
      return { status, headers, body, bodyMs: ended - answered, totalMs: ended - began }
    } catch (error) {
      if (error instanceof CallFailure) throw error
      if (signal.aborted) throw new CallFailure('interrupted', { mayHaveAllocated: sent, cause: error })
      throw networkFailure(error, sent, { url, isRedirected: this.#isRedirected })
    }
  }
}

/** In bytes. Generous enough for 16384-bit keys. */
const largestAnswer = (count: number) => 64 * 1024 + count * 4 * 1024
