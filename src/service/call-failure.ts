import type { Facts, PlainKind } from '../advice/hints.ts'
import { Failure } from '../failure.ts'
import { durationOf } from '../words.ts'
import { type Limit, readLimit, tooLongAskedMs } from './rate-limit.ts'
import { USUAL_PATH } from './url.ts'

export class CallFailure extends Failure {
  readonly isPassing: boolean
  /** Whether the service may have allocated profiles: the request was sent, but its answer did not arrive. */
  readonly mayHaveAllocated: boolean
  /** The rate limit, if the service has answered and another try may help. */
  readonly limit: Limit | undefined
  /** A complete answer that could not be read. Its profiles are allocated. */
  readonly unread: Uint8Array | undefined

  constructor(
    message: string,
    traits: {
      facts?: Facts | PlainKind
      isPassing?: boolean
      mayHaveAllocated?: boolean
      limit?: Limit
      unread?: Uint8Array
      cause?: unknown
    } = {},
  ) {
    super(traits.facts ?? 'service', message, traits.cause)
    this.name = 'CallFailure'
    this.isPassing = traits.isPassing ?? false
    this.mayHaveAllocated = traits.mayHaveAllocated ?? false
    this.limit = traits.limit
    this.unread = traits.unread
  }

  /** Whether nothing listens at the address of the service or of the proxy. */
  get isRefused(): boolean {
    return ['refused', 'refused-by-proxy'].includes(this.facts.kind)
  }
}

const LONGEST_TEXT = 200

/** Not implemented, HTTP version not supported, network authentication required (RFC 9110 15.6, RFC 6585 6). */
const NEVER_CARRIED_OUT = [501, 505, 511]

const TITLE = /<title\b[^>]*>([^<]*)<\/title/i

/** The service never sends a web page, but gateways and proxies do. Its title says enough. */
const isWebPage = (body: string, contentType: string | string[] | undefined) =>
  /\bx?html\b/i.test(String(contentType ?? '')) || /^\s*<(?:!doctype|html|\?xml)/i.test(body)

/**
 * @param body what the answer says, without secrets
 * @param path where the request was sent
 */
export function statusFailure(
  status: number,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  body: string,
  path = USUAL_PATH,
): CallFailure {
  const isPage = isWebPage(body, headers['content-type'])
  const text = (isPage ? (TITLE.exec(body)?.[1] ?? '').replace(/\s+/g, ' ') : body).trim()
  const said = text === '' ? '' : `: ${Array.from(text).slice(0, LONGEST_TEXT).join('')}`
  if (status === 401 || status === 403) {
    return new CallFailure(`the service does not accept the API key (${status})${said}`, {
      facts: { kind: 'api-key', status },
    })
  }
  if (status === 404 && isPage) {
    return new CallFailure(`there is no profile service at this address (404)${said}`, {
      facts: 'no-service',
    })
  }
  if (status === 404) {
    const isUsual = path === USUAL_PATH
    const where = isUsual ? '' : `, or none at ${path}`
    return new CallFailure(`the service has no more profiles${where} (404)${said}`, {
      facts: isUsual ? 'no-more' : 'other-path',
    })
  }
  if (status === 407) {
    return new CallFailure(`a proxy requires a valid user name and password (407)${said}`, {
      facts: 'proxy-login',
    })
  }
  const longMs = tooLongAskedMs(status, headers)
  if (longMs !== undefined) {
    return new CallFailure(`the service asks for a pause of ${durationOf(longMs)} (${status})`, {
      facts: { kind: 'pause', ms: longMs },
    })
  }
  const limit = readLimit(status, headers, Date.now())
  if (status === 429) return new CallFailure('the rate limit is reached (429)', { limit, isPassing: true })
  // With 502, 504 or a status of its own, a gateway reports a request that it forwarded and lost. A service that
  // failed may have allocated profiles first. Only an answer that says when to retry means that nothing was started.
  const isPutOff = status === 503 && headers['retry-after'] !== undefined
  const isLost = status >= 500 && !NEVER_CARRIED_OUT.includes(status)
  // The body of another success status can't be used, and the service has probably allocated profiles.
  const isOdd = status >= 200 && status < 300
  return new CallFailure(`the service answered ${status}${said}`, {
    facts: status >= 400 && status < 500 && status !== 408 ? 'not-understood' : 'service',
    limit,
    // 408: the request took too long to arrive, as on a slow line.
    isPassing: isLost || status === 408,
    mayHaveAllocated: isOdd || (isLost && !isPutOff),
  })
}
