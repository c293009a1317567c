import { expect, test } from 'vitest'
import { Failure } from '../../src/failure.ts'
import { endpoint, redirectTarget } from '../../src/service/client.ts'

test.each([
  ['https://api.onomondo.com/sims/profiles', 'https://api.onomondo.com/sims/profiles?version=1.2.3'],
  ['https://host/', 'https://host/?version=1.2.3'],
  ['https://host/a?site=7', 'https://host/a?site=7&version=1.2.3'],
  ['https://host/a?site=a%20b&x', 'https://host/a?site=a%20b&x&version=1.2.3'],
  ['https://host/a?version=0.9', 'https://host/a?version=0.9'],
  ['https://host/a#part', 'https://host/a?version=1.2.3'],
  ['http://127.0.0.1:8080/a', 'http://127.0.0.1:8080/a?version=1.2.3'],
  ['http://127.1.2.3/a', 'http://127.1.2.3/a?version=1.2.3'],
  ['http://localhost/a', 'http://localhost/a?version=1.2.3'],
  ['http://[::1]:81/a', 'http://[::1]:81/a?version=1.2.3'],
])('%s', (text, expected) => expect(endpoint(text, '1.2.3').href).toBe(expected))

test.each([
  ['http://example.com/a', /plain http to example\.com/],
  ['http://localhost.example.com/a', /plain http/],
  ['http://notlocalhost/a', /plain http/],
  ['HTTPS://host:81810/a', /^bad-url$/],
  ['http://127.0.0.1.example.com/a', /plain http/],
  ['http://10.0.0.1/a', /plain http/],
  ['http://[::2]/a', /plain http/],
  ['https://host:81810/a', /^bad-url$/],
  ['http://local host/a', /^bad-url$/],
  ['ftp://host/a', /^no-web-url$/],
  ['file:///etc/passwd', /^no-web-url$/],
  ['example.com/sims', /^no-web-url$/],
  ['', /^no-web-url$/],
  ['https://user@host/a', /^user-in-url$/],
  ['https://:secret@host/a', /^user-in-url$/],
])('%s is refused', (text, message) => {
  const call = () => endpoint(text, '1.2.3')
  expect(call).toThrow(Failure)
  expect(call).toThrow(message)
  expect(call).not.toThrow(/secret/)
})

const from = new URL('https://host:8443/sims/profiles?version=1')

test.each([
  ['https://host/elsewhere', 'https://host/elsewhere'],
  ['https://host:9443/elsewhere', 'https://host:9443/elsewhere'],
  ['/moved?version=1', 'https://host:8443/moved?version=1'],
  ['//host/moved', 'https://host/moved'],
  ['https://HOST/moved', 'https://host/moved'],
])('a redirect to %s is followed', (location, expected) => {
  expect(redirectTarget(from, location)?.href).toBe(expected)
})

test.each([
  'http://host:8443/sims/profiles',
  'https://other/sims/profiles',
  'https://host.other/sims/profiles',
  'https://evilhost/sims/profiles',
  'https://evil.host/sims/profiles',
  'https://host@other/',
  '//other/sims/profiles',
  'ftp://host/',
  'https://',
  undefined,
])('a redirect to %s is not followed', (location) => expect(redirectTarget(from, location)).toBeUndefined())

test('a redirect from plain http on this machine is followed only to https on this machine', () => {
  const plain = new URL('http://localhost:8080/a')
  expect(redirectTarget(plain, 'https://localhost:8443/a')?.href).toBe('https://localhost:8443/a')
  expect(redirectTarget(plain, '/b')).toBeUndefined()
})
