import { expect, test } from 'vitest'
import { networkFailure } from '../../src/service/call-failure.ts'

const errorOf = (code: string, cause?: unknown) => Object.assign(new Error(`of ${code}`, { cause }), { code })
const failureOf = (error: unknown) => networkFailure(error, { mayHaveAllocated: true })

test.each([
  ['ENOTFOUND', 'the host name of the service is unknown'],
  ['EAI_AGAIN', "the host name of the service can't be resolved"],
  ['ECONNREFUSED', 'the service refuses the connection'],
  ['ECONNRESET', 'the connection to the service was reset'],
  ['ENETUNREACH', 'the connection to the service failed'],
  ['EPIPE', 'the connection to the service failed'],
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
