import type { Facts, PlainKind, ServiceKind } from '../advice/exit-codes.ts'
import { errnoOf, Failure } from '../failure.ts'

export interface Limit {
  /** Requests left before `waitMs` is over. */
  readonly remaining: number | undefined
  /** From the answer until requests are allowed again. */
  readonly waitMs: number | undefined
}

interface Traits extends Partial<Pick<CallFailure, 'isPassing' | 'mayHaveAllocated' | 'limit' | 'unread'>> {
  readonly facts?: Facts | PlainKind
  readonly cause?: unknown
}

/** A request that failed, for whatever reason. */
export class CallFailure extends Failure {
  /** Whether another try may help. */
  readonly isPassing: boolean = false
  /** Whether the service may have allocated profiles: the request was sent, but its answer did not arrive. */
  readonly mayHaveAllocated: boolean = false
  /** The rate limit, if the service has answered and another try may help. */
  readonly limit: Limit | undefined
  /** A complete answer that could not be read. Its profiles are allocated. */
  readonly unread: Uint8Array | undefined
  /** What has arrived of an answer that broke off. */
  readonly part: Uint8Array | undefined

  constructor(message: string, { facts = 'service', cause, ...traits }: Traits = {}) {
    super(facts, message, cause)
    Object.assign(this, { name: 'CallFailure', ...traits })
  }

  /** Whether nothing listens at the address of the service or of the proxy, or the host is not known. */
  get isRefused(): boolean {
    return (
      ['refused', 'refused-by-proxy'].includes(this.facts.kind) || innermost(this.cause).code === UNKNOWN_HOST
    )
  }
}

type Peer = 'service' | 'proxy'

/** Also what Windows and macOS say without a network. */
const UNKNOWN_HOST = 'ENOTFOUND'

/** By Node's error code, or by OpenSSL's message if there is no code. */
const CERTIFICATE: Record<string, readonly [problem: string, kind: ServiceKind]> = {
  CERT_HAS_EXPIRED: ['has expired', 'expired-certificate'],
  CERT_NOT_YET_VALID: ['is not valid yet', 'wrong-clock'],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['is self-signed', 'unknown-ca'],
  ERR_TLS_CERT_ALTNAME_INVALID: ['is for another host', 'other-host'],
  SELF_SIGNED_CERT_IN_CHAIN: ['is issued by an unknown root CA', 'unknown-ca'],
  UNABLE_TO_GET_ISSUER_CERT: ['is issued by an unknown CA', 'unknown-ca'],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ['is issued by an unknown CA', 'unknown-ca'],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ['is issued by an unknown CA', 'unknown-ca'],
  'EE certificate key too weak': ['has a key that is too short', 'too-weak'],
  'CA certificate key too weak': ['is issued by a CA whose key is too short', 'too-weak'],
  'CA signature digest algorithm too weak': ['is signed with an insecure digest algorithm', 'too-weak'],
}

const PASSING: Record<string, (peer: Peer) => string> = {
  [UNKNOWN_HOST]: (peer) => `the host name of the ${peer} is unknown`,
  EADDRNOTAVAIL: () => 'the network has no address',
  EAI_AGAIN: (peer) => `the host name of the ${peer} can't be resolved`,
  ECONNABORTED: (peer) => `the connection to the ${peer} was aborted`,
  ECONNREFUSED: (peer) => `the ${peer} refuses the connection`,
  ECONNRESET: (peer) => `the connection to the ${peer} was reset`,
  EHOSTDOWN: (peer) => `the ${peer} is down`,
  EHOSTUNREACH: (peer) => `the ${peer} is unreachable`,
  ENETDOWN: () => 'the network is down',
  ENETRESET: (peer) => `the connection to the ${peer} was reset`,
  ENETUNREACH: () => 'the network is unreachable',
  EPIPE: (peer) => `the connection to the ${peer} was closed`,
  ETIMEDOUT: (peer) => `the connection to the ${peer} timed out`,
  UND_ERR_BODY_TIMEOUT: () => 'the answer stopped arriving',
  UND_ERR_CONNECT_TIMEOUT: (peer) => `the ${peer} did not accept the connection in time`,
  UND_ERR_HEADERS_TIMEOUT: (peer) => `the ${peer} did not answer in time`,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: () => 'the answer ended too early',
  UND_ERR_SOCKET: (peer) => `the connection to the ${peer} was closed`,
}

/** Where a request was sent. */
interface Target {
  readonly url: URL
  readonly isRedirected: boolean
}

/** @param sent whether sending the request had begun */
export function networkFailure(error: unknown, sent: boolean, to: Target): CallFailure {
  const proxy = proxyFailureIn(error)
  if (proxy?.status !== undefined) return refusal(proxy.status, error)
  const peer = proxy === undefined ? 'service' : 'proxy'
  const { code = '', name, message } = innermost(error)
  const failure = (text: string, why: ServiceKind, isPassing = false) => {
    const facts = to.isRedirected ? ({ kind: 'redirected', to: to.url.origin, why } as const) : why
    return new CallFailure(text, { facts, isPassing, mayHaveAllocated: sent, cause: error })
  }

  for (const sign of [code, message]) {
    const [problem, kind] = CERTIFICATE[sign] ?? []
    if (kind !== undefined) return failure(`the certificate of the ${peer} ${problem} (${sign})`, kind)
  }
  const usual = peer === 'proxy' ? 'no-proxy' : 'no-connection'
  const passing = PASSING[code]
  if (passing !== undefined) {
    return failure(`${passing(peer)} (${code})`, kindOf(code, peer, to), true)
  }
  if (name === 'HTTPParserError') return failure(`the ${peer} sent an invalid HTTP response`, usual)
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) {
    return failure(`the TLS connection to the ${peer} failed (${code})`, 'tls')
  }
  return failure(`the request failed: ${message}`, usual)
}

function kindOf(code: string, peer: Peer, to: Target): ServiceKind {
  if (peer === 'proxy') return code === 'ECONNREFUSED' ? 'refused-by-proxy' : 'no-proxy'
  if (code === 'ECONNREFUSED') return 'refused'
  // A port for TLS closes a connection that begins with anything else.
  const isPlain = to.url.protocol === 'http:' && ['ECONNRESET', 'UND_ERR_SOCKET'].includes(code)
  return isPlain ? 'needs-tls' : 'no-connection'
}

/** The proxy answered CONNECT (RFC 9110 9.3.6), but opened no connection: nothing was sent to the service. */
function refusal(status: number, cause: unknown): CallFailure {
  const failure = (text: string, facts: ServiceKind, isPassing = false) =>
    new CallFailure(`${text} (${status})`, { facts, isPassing, cause })
  if (status === 407) return failure('the proxy requires a valid user name and password', 'proxy-login')
  return status >= 500 || status === 408 || status === 429
    ? failure("the proxy can't connect to the service", 'service-behind-proxy', true)
    : failure('the proxy refuses to connect to the service', 'proxy-refusal')
}

function proxyFailureIn(error: unknown): ProxyFailure | undefined {
  if (error instanceof ProxyFailure) return error
  return error instanceof Error ? proxyFailureIn(error.cause) : undefined
}

/** undici wraps the errors of proxies and sockets. The innermost error with a code says most. */
function innermost(error: unknown): { code: string | undefined; name: string; message: string } {
  const inner = error instanceof Error && error.cause !== undefined ? innermost(error.cause) : undefined
  const code = errnoOf(error)
  if (inner !== undefined && (inner.code !== undefined || code === undefined)) return inner
  if (!(error instanceof Error)) return { code, name: '', message: String(error) }
  return { code, name: error.name, message: error.message }
}

/** No connection to the proxy, or through it, could be opened. Nothing was sent to the service. */
export class ProxyFailure extends Error {
  readonly status: number | undefined

  constructor(details: { status?: number; cause?: unknown }) {
    super('the proxy failed', { cause: details.cause })
    this.name = 'ProxyFailure'
    this.status = details.status
  }
}
