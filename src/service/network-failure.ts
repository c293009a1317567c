import { errnoOf } from '../failure.ts'
import { CallFailure } from './call-failure.ts'
import { ProxyFailure } from './connection.ts'

type Peer = 'service' | 'proxy'

const NETWORK_HINT: Record<Peer, string> = {
  service: 'check --url and the network of this machine',
  proxy: 'check HTTPS_PROXY, and make sure that the proxy is running',
}
const REFUSED_HINT =
  'check the host and the port in --url, and whether a firewall refuses the connection; if they are right, try again later'
const CA_HINT =
  'if a proxy or a test service uses its own CA, set NODE_EXTRA_CA_CERTS to the CA certificate file'
const SYSTEM_CA_HINT = 'if this system trusts that CA, set NODE_USE_SYSTEM_CA=1 instead'
const WEAK_HINT =
  'ask the operator of the service for a stronger certificate; if a proxy replaces the certificate, ask the operator of the proxy'

/** By Node's error code, or by OpenSSL's message if there is no code. */
const CERTIFICATE: Record<string, readonly [problem: string, hint: string]> = {
  CERT_HAS_EXPIRED: [
    'has expired',
    'check the clock of this machine; if it is right, tell the operator of the service',
  ],
  CERT_NOT_YET_VALID: ['is not valid yet', 'check the clock of this machine'],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['is self-signed', CA_HINT],
  ERR_TLS_CERT_ALTNAME_INVALID: ['is for another host', 'check --url'],
  SELF_SIGNED_CERT_IN_CHAIN: ['is issued by an unknown root CA', CA_HINT],
  UNABLE_TO_GET_ISSUER_CERT: ['is issued by an unknown CA', CA_HINT],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ['is issued by an unknown CA', CA_HINT],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ['is issued by an unknown CA', CA_HINT],
  'EE certificate key too weak': ['has a key that is too short', WEAK_HINT],
  'CA certificate key too weak': ['is issued by a CA whose key is too short', WEAK_HINT],
  'CA signature digest algorithm too weak': ['is signed with an insecure digest algorithm', WEAK_HINT],
}

const PASSING: Record<string, (peer: Peer) => string> = {
  EAI_AGAIN: (peer) => `the host name of the ${peer} can't be resolved`,
  ECONNREFUSED: (peer) => `the ${peer} refuses the connection`,
  ECONNRESET: (peer) => `the connection to the ${peer} was reset`,
  EHOSTUNREACH: (peer) => `the ${peer} is unreachable`,
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
export function networkFailure(error: unknown, sent: boolean, to?: Target): CallFailure {
  const proxy = proxyFailureIn(error)
  if (proxy?.status !== undefined) return refusal(proxy.status, error)
  const peer = proxy === undefined ? 'service' : 'proxy'
  const { code = '', name, message } = innermost(error)
  const redirected = to?.isRedirected ? `the service redirected to ${to.url.origin}; ` : ''
  const failure = (text: string, { isPassing = false, hint = NETWORK_HINT[peer] } = {}) =>
    new CallFailure(text, { hint: redirected + hint, isPassing, mayHaveAllocated: sent, cause: error })

  for (const sign of [code, message]) {
    const [problem, hint] = CERTIFICATE[sign] ?? []
    if (hint !== undefined)
      return failure(`the certificate of the ${peer} ${problem} (${sign})`, { hint: withSetCa(hint) })
  }
  const passing = PASSING[code]
  if (passing !== undefined) {
    return failure(`${passing(peer)} (${code})`, { isPassing: true, hint: passingHint(code, peer, to) })
  }
  if (code === 'ENOTFOUND') return failure(`the host name of the ${peer} is unknown (${code})`)
  if (name === 'HTTPParserError') return failure(`the ${peer} sent an invalid HTTP response`)
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) {
    const hint = 'check the scheme, the host and the port in --url'
    return failure(`the TLS connection to the ${peer} failed (${code})`, { hint })
  }
  return failure(`the request failed: ${message}`)
}

/** The variable may be set already, to another file. */
function withSetCa(hint: string): string {
  if (hint !== CA_HINT) return hint
  const file = process.env['NODE_EXTRA_CA_CERTS']
  return `${file ? `NODE_EXTRA_CA_CERTS is set to ${file}, but the CA of this certificate is not in it: add it if you trust it` : hint}; ${SYSTEM_CA_HINT}`
}

function passingHint(code: string, peer: Peer, to: Target | undefined): string {
  if (code === 'ECONNREFUSED' && peer === 'service') return REFUSED_HINT
  // A port for TLS closes a connection that begins with anything else.
  const isPlain = to?.url.protocol === 'http:' && ['ECONNRESET', 'UND_ERR_SOCKET'].includes(code)
  return isPlain ? `${NETWORK_HINT[peer]}; does this port need https?` : NETWORK_HINT[peer]
}

/** The proxy answered CONNECT (RFC 9110 9.3.6), but opened no connection: nothing was sent to the service. */
function refusal(status: number, cause: unknown): CallFailure {
  if (status === 407) {
    return new CallFailure('the proxy requires a valid user name and password (407)', {
      hint: 'set them in HTTPS_PROXY, in the form http://user:password@proxy.example:8080',
      cause,
    })
  }
  if (status >= 500 || status === 408 || status === 429) {
    return new CallFailure(`the proxy can't connect to the service (${status})`, {
      isPassing: true,
      hint: 'check --url; if it is right, ask the operator of the proxy',
      cause,
    })
  }
  return new CallFailure(`the proxy refuses to connect to the service (${status})`, {
    hint: 'ask the operator of the proxy to allow it, or, if the proxy is not needed, add the host to NO_PROXY',
    cause,
  })
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
