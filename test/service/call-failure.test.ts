import { describe, expect, test } from 'vitest'
import { networkFailure } from '../../src/service/call-failure.ts'

const URL_OF_SERVICE = new URL('https://localhost/')
const errorOf = (code: string, cause?: unknown) => Object.assign(new Error(`of ${code}`, { cause }), { code })
const failureOf = (error: unknown, url = URL_OF_SERVICE) =>
  networkFailure(error, { mayHaveAllocated: true }, url)

test.each([
  ['ENOTFOUND', 'the host name of the service is unknown'],
  ['EAI_AGAIN', "the host name of the service can't be resolved"],
  ['ECONNREFUSED', 'the service refuses the connection'],
  ['ECONNRESET', 'the connection to the service was reset'],
  ['ENETDOWN', 'the connection to the service failed'],
  ['UND_ERR_BODY_TIMEOUT', 'the answer stopped arriving'],
  ['UND_ERR_SOCKET', 'the connection to the service was closed'],
])('%s may pass', (code, words) => {
  const { message, traits } = failureOf(errorOf(code))
  expect(message).toBe(`${words} (${code})`)
  expect(traits).toEqual({
    isPassing: true,
    isRefused: /REFUSED|NOTFOUND/.test(code),
    mayHaveAllocated: true,
  })
})

test.each([
  [errorOf('EPROTO'), 'the TLS connection to the service failed (EPROTO)'],
  [errorOf('ERR_SSL_X'), 'the TLS connection to the service failed (ERR_SSL_X)'],
  [Object.assign(new Error('x'), { name: 'HTTPParserError' }), 'the service sent an invalid HTTP response'],
  [new Error('something else'), 'the request failed: something else'],
  [errorOf('CERT_HAS_EXPIRED'), 'the certificate of the service has expired (CERT_HAS_EXPIRED)'],
  [
    errorOf('UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
    'the certificate of the service is issued by an unknown CA (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
  ],
  [
    new Error('EE certificate key too weak'),
    'the certificate of the service is too weak (EE certificate key too weak)',
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

describe.each(['ECONNRESET', 'UND_ERR_SOCKET', 'ETIMEDOUT'])('%s', (code) => {
  test.each(['http:', 'https:'])('from %s: whether the port needs https', (protocol) => {
    const { hint } = failureOf(errorOf(code), new URL(`${protocol}//localhost/`))
    expect(hint.includes('does this port need https?')).toBe(protocol === 'http:' && code !== 'ETIMEDOUT')
  })
})
