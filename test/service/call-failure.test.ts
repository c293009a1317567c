import { afterEach, describe, expect, test, vi } from 'vitest'
import { adviceOn } from '../../src/advice/advice.ts'
import { networkFailure, ProxyFailure } from '../../src/service/call-failure.ts'

afterEach(() => vi.unstubAllEnvs())

const DIRECT = { url: new URL('https://localhost/'), isRedirected: false }
const failureOf = (error: unknown, sent: boolean, to = DIRECT) => networkFailure(error, sent, to)
const errorOf = (code: string, cause?: unknown) => Object.assign(new Error(`of ${code}`, { cause }), { code })

describe.each([true, false])('a request that was sent (%s) may have cost profiles,', (sent) => {
  test.each([
    ['ENOTFOUND', 'the host name of the service is unknown'],
    ['EAI_AGAIN', "the host name of the service can't be resolved"],
    ['ECONNREFUSED', 'the service refuses the connection'],
    ['ECONNRESET', 'the connection to the service was reset'],
    ['EHOSTUNREACH', 'the service is unreachable'],
    ['ENETUNREACH', 'the network is unreachable'],
    ['EPIPE', 'the connection to the service was closed'],
    ['ETIMEDOUT', 'the connection to the service timed out'],
    ['UND_ERR_BODY_TIMEOUT', 'the answer stopped arriving'],
    ['UND_ERR_CONNECT_TIMEOUT', 'the service did not accept the connection in time'],
    ['UND_ERR_HEADERS_TIMEOUT', 'the service did not answer in time'],
    ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'the answer ended too early'],
    ['UND_ERR_SOCKET', 'the connection to the service was closed'],
  ])('and is tried again: %s', (code, words) => {
    const actual = failureOf(errorOf(code), sent)
    const isRefused = /REFUSED|NOTFOUND/.test(code)
    const message = `${words} (${code})`
    expect(actual).toMatchObject({ message, isRefused, isPassing: true, mayHaveAllocated: sent })
  })

  test.each([
    [errorOf('EPROTO'), 'the TLS connection to the service failed (EPROTO)'],
    [errorOf('ERR_SSL_X'), 'the TLS connection to the service failed (ERR_SSL_X)'],
    [Object.assign(new Error('x'), { name: 'HTTPParserError' }), 'the service sent an invalid HTTP response'],
    [new Error('something else'), 'the request failed: something else'],
    [errorOf('CERT_HAS_EXPIRED'), 'the certificate of the service has expired (CERT_HAS_EXPIRED)'],
  ])('and is not tried again: %s', (error, message) => {
    expect(failureOf(error, sent)).toMatchObject({ message, isPassing: false, mayHaveAllocated: sent })
  })
})

test.each([
  ['CERT_HAS_EXPIRED', 'has expired', /clock.*operator/],
  ['CERT_NOT_YET_VALID', 'is not valid yet', /clock of this machine$/],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'is self-signed', /NODE_EXTRA_CA_CERTS/],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'is for another host', /^check --url$/],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'is issued by an unknown root CA', /NODE_EXTRA_CA_CERTS/],
  ['UNABLE_TO_GET_ISSUER_CERT', 'is issued by an unknown CA', /NODE_EXTRA_CA_CERTS/],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'is issued by an unknown CA', /NODE_EXTRA_CA_CERTS/],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'is issued by an unknown CA', /NODE_EXTRA_CA_CERTS/],
])('a certificate: %s', (code, problem, hint) => {
  vi.stubEnv('NODE_EXTRA_CA_CERTS', 'ca.pem')
  const failure = failureOf(errorOf(code), false)
  expect(failure.message).toBe(`the certificate of the service ${problem} (${code})`)
  const advice = adviceOn(failure)
  expect(advice.hint).toMatch(hint)
  expect(advice.hint.startsWith('NODE_EXTRA_CA_CERTS is set to ca.pem')).toBe(hint.source.includes('EXTRA'))
})

describe('the cause', () => {
  const reset = errorOf('ECONNRESET')

  test('is the innermost error with a code', () => {
    const said = (error: Error) => failureOf(error, false).message
    expect(said(errorOf('UND_ERR_SOCKET', reset))).toContain('was reset (ECONNRESET)')
    expect(said(errorOf('UND_ERR_SOCKET', new Error('x')))).toContain('(UND_ERR_SOCKET)')
    expect(said(new Error('outer', { cause: new Error('inner') }))).toBe('the request failed: inner')
  })

  test('may be the proxy, however deep', () => {
    const proxy = new ProxyFailure({ cause: errorOf('ECONNREFUSED') })
    const failure = failureOf(new Error('x', { cause: new Error('y', { cause: proxy }) }), false)
    expect(failure.message).toBe('the proxy refuses the connection (ECONNREFUSED)')
    expect(adviceOn(failure).hint).toMatch(/^check HTTPS_PROXY/)
    expect(failureOf(new Error('x', { cause: new ProxyFailure({ status: 407 }) }), false).message).toContain(
      'requires a valid user name',
    )
  })
})

test.each([
  ['http:', 'ECONNRESET', true],
  ['http:', 'UND_ERR_SOCKET', true],
  ['http:', 'ETIMEDOUT', false],
  ['https:', 'ECONNRESET', false],
])('%s and %s: the port may need https: %s', (protocol, code, isAsked) => {
  const to = { url: new URL(`${protocol}//localhost/`), isRedirected: false }
  const { hint } = adviceOn(failureOf(errorOf(code), true, to))
  expect(hint.includes('does this port need https?')).toBe(isAsked)
})

test('after a redirect, the hint begins with its address', () => {
  const url = new URL('https://host:8443/a?b')
  const hintOf = (isRedirected: boolean) =>
    adviceOn(failureOf(errorOf('ETIMEDOUT'), true, { url, isRedirected })).hint
  expect(hintOf(true)).toBe(`the service redirected to https://host:8443; ${hintOf(false)}`)
})
