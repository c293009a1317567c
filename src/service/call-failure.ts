/** Why a request failed: what happened, and what a person can do about it. */
import { Failure, type Outcome } from '../failure.ts'
import type { StoredProfile } from '../profile/check.ts'

/** What is known of a failure beside its words. */
interface Traits {
  readonly outcome?: Outcome
  /** Another try may help. */
  readonly isPassing?: boolean
  /** The service may have allocated profiles: the request was sent, but its answer did not arrive whole. */
  readonly mayHaveAllocated?: boolean
  /** Nothing listens there, or the host is not known. */
  readonly isRefused?: boolean
  /** The answer was meant for another request: others may have its profiles. */
  readonly isRepeated?: boolean
  /** For how long the service wants no request, in milliseconds. */
  readonly pauseMs?: number
  /** The complete profiles of an answer that broke off or can't be read. Each is paid for. */
  readonly profiles?: readonly StoredProfile[]
}

export class CallFailure extends Failure {
  readonly traits: Traits

  constructor(message: string, hint: string, traits: Traits = {}, cause?: unknown) {
    super(traits.outcome ?? 'service', message, hint, cause)
    this.name = 'CallFailure'
    this.traits = traits
  }
}

const ADD_CA = 'if a proxy or a test service uses its own CA, set NODE_EXTRA_CA_CERTS to the file of that CA'
const CLOCK = 'check the clock of this machine; if it is right, tell the operator of the service'
const CERTIFICATE: Readonly<Record<string, readonly [problem: string, hint: string]>> = {
  CERT_HAS_EXPIRED: ['has expired', CLOCK],
  CERT_NOT_YET_VALID: ['is not valid yet', CLOCK],
  ERR_TLS_CERT_ALTNAME_INVALID: ['is for another host', 'check the host in the URL of the service'],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['is self-signed', ADD_CA],
  SELF_SIGNED_CERT_IN_CHAIN: ['is issued by an unknown root CA', ADD_CA],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ['is issued by an unknown CA', ADD_CA],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ['is issued by an unknown CA', ADD_CA],
}

/** PEER is the service or, through a proxy, one of both. */
const PASSING: Readonly<Record<string, string>> = {
  EAI_AGAIN: "the host name of PEER can't be resolved",
  ECONNREFUSED: 'PEER refuses the connection',
  ECONNRESET: 'the connection to PEER was reset',
  ENOTFOUND: 'the host name of PEER is unknown',
  ETIMEDOUT: 'the connection to PEER timed out',
  UND_ERR_BODY_TIMEOUT: 'the answer stopped arriving',
  UND_ERR_CONNECT_TIMEOUT: 'PEER did not accept the connection in time',
  UND_ERR_HEADERS_TIMEOUT: 'PEER did not answer in time',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the answer ended too early',
  UND_ERR_SOCKET: 'the connection to PEER was closed',
}

export const isUnknownCa = (error: unknown): boolean => CERTIFICATE[innermost(error).code]?.[1] === ADD_CA

/** @param variable the one that names the proxy, if the request goes through one */
export function networkFailure(error: unknown, traits: Traits, variable?: string): CallFailure {
  const { code, message } = innermost(error)
  const peer = variable === undefined ? 'the service' : `the proxy in ${variable} or the service`
  const [problem, remedy = ''] = CERTIFICATE[code] ?? []
  if (problem !== undefined)
    return new CallFailure(`the certificate of ${peer} ${problem} (${code})`, remedy, traits, error)
  const isOther = /^E(?:ADDR|CONN|HOST|NET|PIPE)/.test(code)
  const passing = PASSING[code] ?? (isOther ? 'the connection to PEER failed' : undefined)
  const isPassing = passing !== undefined
  const isTls = code === 'EPROTO' || code.startsWith('ERR_SSL_')
  const words = isTls ? `the TLS connection to PEER failed (${code})` : `the request failed: ${message}`
  const what = (isPassing ? `${passing} (${code})` : words).replace('PEER', peer)
  const isRefused = code === 'ECONNREFUSED' || code === 'ENOTFOUND'
  return new CallFailure(what, hintOn(variable), { ...traits, isPassing, isRefused }, error)
}

function hintOn(variable: string | undefined): string {
  if (variable !== undefined && /^https:/i.test(process.env[variable] ?? ''))
    return `${variable} names its proxy with https://, and most proxies take http://: try that, and check host and port`
  const place = variable === undefined ? '' : `${variable}, whether that proxy is running, `
  return `check ${place}the URL of the service, and the network of this machine`
}

/** undici wraps the errors of sockets. The innermost error with a code says most. */
function innermost(error: unknown): { code: string; message: string } {
  const { code, message = String(error), cause } = (error ?? {}) as Partial<NodeJS.ErrnoException>
  const own = { code: typeof code === 'string' ? code : '', message }
  const inner = cause === undefined ? own : innermost(cause)
  return inner.code !== '' || own.code === '' ? inner : own
}

/** A proxy has not opened a connection to the service (RFC 9110 9.3.6): nothing was sent, and nothing is paid. */
export function proxyRefusal(status: number, challenge: string, variable: string): CallFailure {
  const proxy = `the proxy in ${variable}`
  const isPassing = status >= 500 || status === 408 || status === 429
  if (status !== 407)
    return new CallFailure(
      `${proxy} ${isPassing ? "can't" : 'refuses to'} connect to the service (${status})`,
      'ask the operator of the proxy; if it is not needed, add the host of the service to NO_PROXY',
      { isPassing },
    )
  // The schemes of a challenge (RFC 9110 11.3), without their parameters.
  const schemes = challenge
    .split(',')
    .flatMap((part) => /^\s*([a-z][a-z0-9-]*)(?:\s+[^\s=].*)?\s*$/i.exec(part)?.[1] ?? [])
  const isBasic = schemes.length === 0 || schemes.some((scheme) => /^basic$/i.test(scheme))
  const by = isBasic ? 'wants a user name and a password' : `takes only a login by ${schemes.join(' or ')}`
  const hint = isBasic
    ? `give the right ones in ${variable}, in the form http://user:password@proxy.example:8080`
    : `softsim knows only Basic: run a local proxy that does this login (such as Px or Cntlm) and name it in ${variable}`
  return new CallFailure(`${proxy} ${by} (407)`, hint)
}
