import { errnoOf } from '../errors.ts'

/** Why a call brought no profiles. */
export class CallFailure extends Error {
  /** Whether the same call may do better a little later. */
  readonly isPassing: boolean
  /** Whether the service may have allocated profiles for it: it was sent, and its answer did not arrive. */
  readonly mayHaveAllocated: boolean
  /** The status it was answered with, if it was. */
  readonly status: number | undefined
  readonly hint: string | undefined

  constructor(
    message: string,
    traits: {
      isPassing?: boolean
      mayHaveAllocated?: boolean
      status?: number
      hint?: string
      cause?: unknown
    } = {},
  ) {
    super(message, { cause: traits.cause })
    this.name = 'CallFailure'
    this.isPassing = traits.isPassing ?? false
    this.mayHaveAllocated = traits.mayHaveAllocated ?? false
    this.status = traits.status
    this.hint = traits.hint
  }
}

/** What an answer other than 200 means. */
export function statusFailure(status: number, text: string): CallFailure {
  const said = text === '' ? '' : `: ${text.slice(0, 200)}`
  if (status === 401 || status === 403) {
    return new CallFailure(`the service does not accept the API key (${status})${said}`, {
      status,
      hint: 'it takes a key made for SoftSIM profiles: give it in SOFTSIM_API_KEY',
    })
  }
  if (status === 404) return new CallFailure(`the service has no more profiles (404)${said}`, { status })
  if (status === 429) return new CallFailure('the rate limit is reached (429)', { status, isPassing: true })
  // A gateway says this of a call that it passed on and lost.
  const mayHaveAllocated = status === 502 || status === 504
  return new CallFailure(`the service answered ${status}${said}`, {
    status,
    isPassing: status >= 500,
    mayHaveAllocated,
  })
}

const NETWORK_HINT = 'check --url and the network of this machine'

const CERTIFICATE = 'the certificate of the service'
const CA_HINT = 'where a proxy or a test service has a CA of its own, name it in NODE_EXTRA_CA_CERTS'

/** What a network error means, and for a few of them what to do. */
const NETWORK: Record<string, readonly [message: string, hint?: string]> = {
  CERT_HAS_EXPIRED: [
    `${CERTIFICATE} has expired`,
    'check the clock of this machine; then tell whoever runs the service',
  ],
  CERT_NOT_YET_VALID: [`${CERTIFICATE} is not valid yet`, 'check the clock of this machine'],
  DEPTH_ZERO_SELF_SIGNED_CERT: [`${CERTIFICATE} is signed by itself`, CA_HINT],
  ERR_TLS_CERT_ALTNAME_INVALID: [`${CERTIFICATE} is for another host`, 'check --url'],
  SELF_SIGNED_CERT_IN_CHAIN: [`${CERTIFICATE} comes from a CA that signed itself`, CA_HINT],
  UNABLE_TO_GET_ISSUER_CERT: [`${CERTIFICATE} comes from an unknown CA`, CA_HINT],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: [`${CERTIFICATE} comes from an unknown CA`, CA_HINT],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: [`${CERTIFICATE} comes from an unknown CA`, CA_HINT],
  ENOTFOUND: ['the name of the service is unknown', NETWORK_HINT],
}

const PASSING: Record<string, string> = {
  EAI_AGAIN: 'the name of the service could not be looked up',
  ECONNREFUSED: 'the service refuses the connection',
  ECONNRESET: 'the connection was reset',
  EHOSTUNREACH: 'the service cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  EPIPE: 'the connection was closed',
  ETIMEDOUT: 'the connection timed out',
  UND_ERR_BODY_TIMEOUT: 'the answer stopped arriving',
  UND_ERR_CONNECT_TIMEOUT: 'the service did not take the connection in time',
  UND_ERR_HEADERS_TIMEOUT: 'the service did not answer in time',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the answer ended too early',
  UND_ERR_SOCKET: 'the connection was closed',
}

/**
 * What an error below HTTP means.
 * @param sent whether the request had begun to go out
 */
export function networkFailure(error: unknown, sent: boolean): CallFailure {
  const code = codeOf(error) ?? ''
  const traits = { mayHaveAllocated: sent, cause: error }
  if (NETWORK[code]) {
    const [message, hint] = NETWORK[code]
    return new CallFailure(`${message} (${code})`, { ...traits, ...(hint ? { hint } : {}) })
  }
  if (PASSING[code]) {
    return new CallFailure(`${PASSING[code]} (${code})`, { ...traits, isPassing: true, hint: NETWORK_HINT })
  }
  if (error instanceof Error && error.name === 'TimeoutError') {
    return new CallFailure('the answer took too long', { ...traits, isPassing: true })
  }
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) {
    const hint = 'check --url: https, the host and the port'
    return new CallFailure(`the service does not speak TLS as it should (${code})`, { ...traits, hint })
  }
  return new CallFailure(
    `the request failed: ${error instanceof Error ? error.message : String(error)}`,
    traits,
  )
}

/** The code of the innermost error that has one: undici wraps what a proxy or a socket said. */
function codeOf(error: unknown): string | undefined {
  const inner = error instanceof Error && error.cause !== undefined ? codeOf(error.cause) : undefined
  return inner ?? errnoOf(error)
}
