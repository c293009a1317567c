import { errnoOf } from '../failure.ts'
import { CallFailure } from './call-failure.ts'
import { ProxyFailure } from './connection.ts'

type Peer = 'service' | 'proxy'

const NETWORK_HINT: Record<Peer, string> = {
  service: 'check --url and the network of this machine',
  proxy: 'check HTTPS_PROXY, and whether the proxy runs',
}
const CA_HINT = 'where a proxy or a test service has a CA of its own, name it in NODE_EXTRA_CA_CERTS'
const WEAK_HINT =
  'tell whoever runs it; where a proxy shows a certificate of its own in its place, whoever runs that'

/** Certificate problems and hints, by Node's error code, or by OpenSSL's message if there is no code. */
const CERTIFICATE: Record<string, readonly [problem: string, hint: string]> = {
  CERT_HAS_EXPIRED: ['has expired', 'check the clock of this machine; then tell whoever runs the service'],
  CERT_NOT_YET_VALID: ['is not valid yet', 'check the clock of this machine'],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['is signed by itself', CA_HINT],
  ERR_TLS_CERT_ALTNAME_INVALID: ['is for another host', 'check --url'],
  SELF_SIGNED_CERT_IN_CHAIN: ['comes from a CA that signed itself', CA_HINT],
  UNABLE_TO_GET_ISSUER_CERT: ['comes from an unknown CA', CA_HINT],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ['comes from an unknown CA', CA_HINT],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ['comes from an unknown CA', CA_HINT],
  'EE certificate key too weak': ['has a key that is too short to be safe', WEAK_HINT],
  'CA certificate key too weak': ['comes from a CA whose key is too short to be safe', WEAK_HINT],
  'CA signature digest algorithm too weak': ['is signed with a digest that is not safe any more', WEAK_HINT],
}

const PASSING: Record<string, (peer: Peer) => string> = {
  EAI_AGAIN: (peer) => `the name of the ${peer} could not be looked up`,
  ECONNREFUSED: (peer) => `the ${peer} refuses the connection`,
  ECONNRESET: (peer) => `the connection to the ${peer} was reset`,
  EHOSTUNREACH: (peer) => `the ${peer} cannot be reached`,
  ENETUNREACH: () => 'the network cannot be reached',
  EPIPE: (peer) => `the connection to the ${peer} was closed`,
  ETIMEDOUT: (peer) => `the connection to the ${peer} timed out`,
  UND_ERR_BODY_TIMEOUT: () => 'the answer stopped arriving',
  UND_ERR_CONNECT_TIMEOUT: (peer) => `the ${peer} did not take the connection in time`,
  UND_ERR_HEADERS_TIMEOUT: (peer) => `the ${peer} did not answer in time`,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: () => 'the answer ended too early',
  UND_ERR_SOCKET: (peer) => `the connection to the ${peer} was closed`,
}

/**
 * Interprets an error below HTTP.
 * @param sent whether sending the request had begun
 */
export function networkFailure(error: unknown, sent: boolean): CallFailure {
  const proxy = proxyFailureIn(error)
  if (proxy?.status !== undefined) return refusal(proxy.status, error)
  const peer = proxy === undefined ? 'service' : 'proxy'
  const { code = '', name, message } = innermost(error)
  const failure = (text: string, traits: { isPassing?: boolean; hint?: string } = {}) =>
    new CallFailure(text, { hint: NETWORK_HINT[peer], ...traits, mayHaveAllocated: sent, cause: error })

  for (const sign of [code, message]) {
    const [problem, hint] = CERTIFICATE[sign] ?? []
    if (hint !== undefined) return failure(`the certificate of the ${peer} ${problem} (${sign})`, { hint })
  }
  const passing = PASSING[code]
  if (passing !== undefined) return failure(`${passing(peer)} (${code})`, { isPassing: true })
  if (code === 'ENOTFOUND') return failure(`the name of the ${peer} is unknown (${code})`)
  if (name === 'HTTPParserError') return failure(`the ${peer} does not speak HTTP as it should`)
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) {
    const hint = 'check --url: https, the host and the port'
    return failure(`the ${peer} does not speak TLS as it should (${code})`, { hint })
  }
  return failure(`the request failed: ${message}`)
}

/**
 * Interprets the answer of a proxy to CONNECT (RFC 9110 9.3.6). The connection was not opened, so nothing was sent to
 * the service.
 */
function refusal(status: number, cause: unknown): CallFailure {
  if (status === 407) {
    return new CallFailure('the proxy wants a user and a password, and was given none or others (407)', {
      hint: 'give them in HTTPS_PROXY, like this: http://user:password@proxy.example:8080',
      cause,
    })
  }
  if (status >= 500 || status === 408 || status === 429) {
    return new CallFailure(`the proxy can't open the way to the service (${status})`, {
      isPassing: true,
      hint: 'check --url; if that is right, ask whoever runs the proxy',
      cause,
    })
  }
  return new CallFailure(`the proxy does not open the way to the service (${status})`, {
    hint: 'ask whoever runs the proxy to allow it; if there is a way without it, name the host in NO_PROXY',
    cause,
  })
}

function proxyFailureIn(error: unknown): ProxyFailure | undefined {
  if (error instanceof ProxyFailure) return error
  return error instanceof Error ? proxyFailureIn(error.cause) : undefined
}

/**
 * Returns the innermost error with a code, or the innermost error if none has one. undici wraps the errors of proxies
 * and sockets.
 */
function innermost(error: unknown): { code: string | undefined; name: string; message: string } {
  const inner = error instanceof Error && error.cause !== undefined ? innermost(error.cause) : undefined
  const code = errnoOf(error)
  if (inner !== undefined && (inner.code !== undefined || code === undefined)) return inner
  if (!(error instanceof Error)) return { code, name: '', message: String(error) }
  return { code, name: error.name, message: error.message }
}
