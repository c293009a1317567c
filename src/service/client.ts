import api from 'undici/lib/api/index.js'
import Agent from 'undici/lib/dispatcher/agent.js'
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js'
import EnvHttpProxyAgent from 'undici/lib/dispatcher/env-http-proxy-agent.js'
import { Failure } from '../errors.ts'
import { several } from '../words.ts'
import { type Answer, parseAnswer } from './answer.ts'
import { CallFailure, networkFailure, statusFailure } from './failure.ts'
import { type Limit, readLimit } from './limit.ts'
import { redirectTarget } from './url.ts'

type Headers = Record<string, string | string[] | undefined>

// What the front page of undici does: its proxy agent connects with a method that is put on here.
Object.assign(Dispatcher.prototype, api)

const MOST_REDIRECTS = 5
const REDIRECTS = [301, 302, 303, 307, 308]
const LONGEST_MESSAGE = 4 * 1024

/** Milliseconds that a request may spend. */
export interface Timeouts {
  readonly connect: number
  /** From the request to its headers: allocating profiles takes the service a while. */
  readonly headers: number
  /** Between two parts of the body. */
  readonly idle: number
  /** All of it. */
  readonly total: number
}

const TIMEOUTS: Timeouts = { connect: 10_000, headers: 60_000, idle: 30_000, total: 180_000 }

export interface ClientOptions {
  readonly url: URL
  readonly apiKey: string
  readonly timeouts?: Timeouts
  /** Is told of each request and its answer, never of the key. */
  readonly trace: (level: 2 | 3, text: string) => void
}

/** The service's one call. Retries, the rate limit and what happens to the profiles are its caller's business. */
export class Client {
  #url: URL
  readonly #apiKey: string
  readonly #timeouts: Timeouts
  readonly #trace: ClientOptions['trace']
  readonly #direct: Dispatcher
  readonly #proxied: Dispatcher

  constructor({ url, apiKey, timeouts = TIMEOUTS, trace }: ClientOptions) {
    this.#url = url
    this.#apiKey = apiKey
    this.#timeouts = timeouts
    this.#trace = trace
    const options = {
      allowH2: false,
      connect: { timeout: timeouts.connect, rejectUnauthorized: true },
      headersTimeout: timeouts.headers,
      bodyTimeout: timeouts.idle,
    }
    this.#direct = new Agent(options)
    this.#proxied = url.protocol === 'https:' ? proxyAgent(options) : this.#direct
  }

  /**
   * Asks for profiles. The service allocates them: the same call sent again brings others.
   * @param count 1 to 1000
   * @param learn is told what the answer says of the rate limit
   * @throws {CallFailure}
   */
  async ask(count: number, learn: (limit: Limit) => void, signal: AbortSignal): Promise<Answer> {
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
      const { status, headers, body } = await this.#send(count, signal)
      learn(readLimit(status, headers, Date.now()))
      if (status === 200) return answerOf(headers, body)
      if (!REDIRECTS.includes(status)) throw statusFailure(status, body.trim())
      this.#url = this.#redirected(headers['location'])
    }
    throw new CallFailure(`the service redirects more than ${MOST_REDIRECTS} times`)
  }

  async close(): Promise<void> {
    await Promise.all([this.#direct.destroy(), this.#proxied.destroy()])
  }

  #redirected(location: string | string[] | undefined): URL {
    const target = redirectTarget(this.#url, typeof location === 'string' ? location : undefined)
    if (target !== undefined) return target
    throw new CallFailure('the service redirects to an address that is not https on the same host', {
      hint: 'the API key is not sent there; give the new address with --url if you trust it',
    })
  }

  async #send(
    count: number,
    signal: AbortSignal,
  ): Promise<{ status: number; headers: Headers; body: string }> {
    const url = this.#url
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(this.#timeouts.total)])
    const text = JSON.stringify({ count })
    let sent = false
    // The connection asks for the body when it is about to send the request: from here on it may cost profiles.
    const body = function* () {
      sent = true
      yield text
    }
    const began = performance.now()
    this.#trace(2, `asking ${url.origin}${url.pathname} for ${several(count, 'profile')}`)
    try {
      // Plain HTTP goes to this machine only, and so never through a proxy.
      const dispatcher = url.protocol === 'http:' ? this.#direct : this.#proxied
      const response = await dispatcher.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: 'GET',
        headers: {
          authorization: this.#apiKey,
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(text)),
        },
        body: body() as unknown as Uint8Array,
        signal: deadline,
      })
      const status = response.statusCode
      const answer =
        status === 200 ? await readText(response.body, largestAnswer(count)) : await readStart(response.body)
      const ms = Math.round(performance.now() - began)
      this.#trace(2, `answered ${status}, ${answer.length} bytes, ${ms} ms`)
      this.#trace(3, `headers ${JSON.stringify(response.headers)}`)
      // Before it is cut to a message's length: a part of the key is one too many.
      return {
        status,
        headers: response.headers,
        body: status === 200 ? answer : answer.replaceAll(this.#apiKey, '***'),
      }
    } catch (error) {
      if (error instanceof CallFailure) throw error
      if (signal.aborted) throw new CallFailure('interrupted', { mayHaveAllocated: sent, cause: error })
      throw networkFailure(error, sent)
    }
  }
}

/** @throws {Failure} `usage` */
function proxyAgent(options: EnvHttpProxyAgent.Options): Dispatcher {
  try {
    return new EnvHttpProxyAgent(options)
  } catch (error) {
    throw new Failure('usage', 'HTTPS_PROXY or HTTP_PROXY holds no address of a proxy', {
      hint: 'write it like this: http://proxy.example:8080',
      cause: error,
    })
  }
}

/** Generous for 16384-bit keys: nothing that is larger is an answer to what was asked. */
const largestAnswer = (count: number) => 64 * 1024 + count * 4 * 1024

/** @throws {CallFailure} where there is more of it than `largest` bytes; the rest is not read */
async function readText(body: AsyncIterable<Uint8Array>, largest: number): Promise<string> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of body) {
    size += part.length
    if (size > largest) {
      throw new CallFailure('the answer is larger than any answer to what was asked', {
        mayHaveAllocated: true,
      })
    }
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** The beginning of an error's text. */
async function readStart(body: AsyncIterable<Uint8Array>): Promise<string> {
  let text = ''
  for await (const part of body) {
    text += Buffer.from(part).toString('latin1')
    if (text.length > LONGEST_MESSAGE) break
  }
  return text
}

function answerOf(headers: Headers, body: string): Answer {
  const traits = { mayHaveAllocated: true, hint: 'check --url; a proxy or a login page may have answered' }
  if (headers['content-encoding'] !== undefined) {
    throw new CallFailure('the answer is compressed, and was not asked to be', traits)
  }
  const answer = parseAnswer(body)
  if (answer === undefined) throw new CallFailure('the answer is not a list of profiles', traits)
  return answer
}
