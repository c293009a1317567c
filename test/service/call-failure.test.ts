import { expect, test } from 'vitest'
import { isUnknownCa, networkFailure, proxyRefusal } from '../../src/service/call-failure.ts'

const errorOf = (code: string, cause?: unknown) => Object.assign(new Error(`of ${code}`, { cause }), { code })
const failureOf = (error: unknown) => networkFailure(error, { mayHaveAllocated: true })

test.each([
  ['ENOTFOUND', 'the host name of the service is unknown'],
  ['EAI_AGAIN', "the host name of the service can't be resolved"],
  ['ECONNREFUSED', 'the service refuses the connection'],
  ['ECONNRESET', 'the connection to the service was reset'],
  ['ENETUNREACH', 'the connection to the service failed'],
  ['EPIPE', 'the connection to the service failed'],
  ['EHOSTUNREACH', 'the connection to the service failed'],
  ['EADDRNOTAVAIL', 'the connection to the service failed'],
  ['ECONNABORTED', 'the connection to the service failed'],
  ['ETIMEDOUT', 'the connection to the service timed out'],
  ['UND_ERR_CONNECT_TIMEOUT', 'the service did not accept the connection in time'],
  ['UND_ERR_HEADERS_TIMEOUT', 'the service did not answer in time'],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'the answer ended too early'],
  ['UND_ERR_BODY_TIMEOUT', 'the answer stopped arriving'],
  ['UND_ERR_SOCKET', 'the connection to the service was closed'],
])('%s may pass', (code, words) => {
  const { message, hint, traits } = failureOf(errorOf(code))
  expect(message).toBe(`${words} (${code})`)
  expect(hint).toBe('check the URL of the service, and the network of this machine')
  expect(traits).toEqual({
    isPassing: true,
    isRefused: /REFUSED|NOTFOUND/.test(code),
    mayHaveAllocated: true,
  })
})

test.each([
  [errorOf('EPROTO'), 'the TLS connection to the service failed (EPROTO)'],
  [errorOf('ERR_SSL_X'), 'the TLS connection to the service failed (ERR_SSL_X)'],
  [new Error('something else'), 'the request failed: something else'],
  [errorOf('CERT_HAS_EXPIRED'), 'the certificate of the service has expired (CERT_HAS_EXPIRED)'],
  [
    errorOf('UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
    'the certificate of the service is issued by an unknown CA (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
  ],
])('%s does not pass', (error, message) => {
  expect(failureOf(error)).toMatchObject({ message, traits: { mayHaveAllocated: true } })
  expect(failureOf(error).traits.isPassing ?? false).toBe(false)
})

test('the innermost error with a code says most', () => {
  const said = (error: Error) => failureOf(error).message
  expect(said(errorOf('UND_ERR_SOCKET', errorOf('ECONNRESET')))).toContain('was reset (ECONNRESET)')
  expect(said(errorOf('UND_ERR_SOCKET', new Error('x')))).toContain('(UND_ERR_SOCKET)')
  expect(said(new Error('outer', { cause: new Error('inner') }))).toBe('the request failed: inner')
})

const CLOCK = 'check the clock of this machine; if it is right, tell the operator of the service'
const ADD_CA = 'if a proxy or a test service uses its own CA, set NODE_EXTRA_CA_CERTS to the file of that CA'

test.each([
  ['CERT_HAS_EXPIRED', 'has expired', CLOCK],
  ['CERT_NOT_YET_VALID', 'is not valid yet', CLOCK],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'is for another host', 'check the host in the URL of the service'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'is self-signed', ADD_CA],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'is issued by an unknown root CA', ADD_CA],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'is issued by an unknown CA', ADD_CA],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'is issued by an unknown CA', ADD_CA],
])('%s: the certificate %s; what helps; and only a CA can be in the system', (code, problem, hint) => {
  const failure = networkFailure(errorOf('UND_ERR_SOCKET', errorOf(code)), {}, 'HTTPS_PROXY')
  expect(failure).toMatchObject({
    message: `the certificate of the proxy in HTTPS_PROXY or the service ${problem} (${code})`,
    ...{ hint, outcome: 'service' },
  })
  expect(isUnknownCa(failure)).toBe(hint === ADD_CA)
})

test.each([
  [502, '', "can't connect to the service (502)", 'ask the operator of the proxy; if it is not needed,'],
  [403, '', 'refuses to connect to the service (403)', 'ask the operator of the proxy; if it is not needed,'],
  [
    407,
    '',
    'wants a user name and a password (407)',
    'give the right ones in ALL_PROXY, in the form http://',
  ],
  [407, 'basic realm="a"', 'wants a user name and a password (407)', 'give the right ones in ALL_PROXY,'],
  [
    407,
    'NTLM, Kerberos',
    'takes only a login by NTLM or Kerberos (407)',
    'softsim knows only Basic: run a local proxy that does this login (such as Px or Cntlm) and name it in ALL_PROXY',
  ],
])('a proxy that answers %i, %s: it %s; %s', (status, challenge, words, begin) => {
  const { message, hint } = proxyRefusal(status, challenge, 'ALL_PROXY')
  expect([message, hint.slice(0, begin.length)]).toEqual([`the proxy in ALL_PROXY ${words}`, begin])
})
