import { afterEach, describe, expect, test } from 'vitest'
import { namesIn, temporaryDirectory } from '../support/directory.ts'
import { selfSigned } from '../support/keys.ts'
import { failure } from '../support/promises.ts'
import { API_KEY, type Sandbox, startSandbox } from '../support/sandbox.ts'
import { softsim } from '../support/softsim.ts'
import { startTunnel, type Tunnel } from '../support/tunnel.ts'

const certificates = temporaryDirectory()
const ca = selfSigned(certificates)
const good = selfSigned(certificates, { ca })
const TRUSTED = { NODE_EXTRA_CA_CERTS: ca.certPath }

/** Fetches one profile from any address. */
function fetchFrom(url: string, env: Record<string, string> = {}, args: string[] = []) {
  const directory = `${temporaryDirectory()}/profiles`
  const run = softsim(['fetch', '-u', url, '-o', directory, ...args], {
    env: { SOFTSIM_API_KEY: API_KEY, ...env },
  })
  return { run, directory }
}

const httpsUrl = (service: Sandbox) => service.httpsUrl ?? ''
const localhost = (url: string) => url.replace('127.0.0.1', 'localhost')

describe('certificates', () => {
  test('a certificate of a CA in NODE_EXTRA_CA_CERTS is accepted', async () => {
    const service = await startSandbox({ tls: good })
    const { run, directory } = fetchFrom(httpsUrl(service), TRUSTED)
    expect(await run).toMatchObject({ code: 0, stdout: '' })
    expect(namesIn(directory)).toHaveLength(1)
    expect(service.requests.map(({ secure }) => secure)).toEqual([true])
  })

  test.skipIf(process.platform !== 'linux')(
    'a CA of the system is accepted, also through a proxy',
    async () => {
      const [service, proxy] = [await startSandbox({ tls: good }), await startTunnel({ tls: good })]
      const system = { SSL_CERT_FILE: ca.certPath }
      const https = { ...system, HTTPS_PROXY: proxy.url.replace('127.0.0.1', 'localhost') }
      expect(await fetchFrom(httpsUrl(service), system).run).toMatchObject({ code: 0 })
      expect(await fetchFrom(httpsUrl(service), https).run).toMatchObject({ code: 0 })
      expect(service.requests).toHaveLength(2)
      proxy.close()
    },
  )

  test.each([
    ['of an unknown CA', () => good, {}, /unknown CA/],
    ['signed by itself', () => selfSigned(certificates), {}, /self-signed/],
    ['that has expired', () => selfSigned(certificates, { ca, days: -1 }), TRUSTED, /has expired/],
    ['for another host', () => selfSigned(certificates, { ca, host: 'other.test' }), TRUSTED, /another host/],
  ])('a certificate %s gets its own message, and no key is sent', async (_, make, env, why) => {
    const service = await startSandbox({ tls: make() })
    const { run, directory } = fetchFrom(httpsUrl(service), env)
    expect(await run).toEqual(failure(7, RegExp(`the certificate of the service .*${why.source}.*`)))
    expect(service.requests).toEqual([])
    expect(namesIn(directory)).toEqual([])
  })

  test.each([
    ['has a key that is too short', { bits: 1024 }, /EE certificate key too weak/],
    ['is signed with an insecure digest', { digest: 'sha1' }, /CA signature digest algorithm too weak/],
  ])('a certificate that %s is refused with a hint', async (why, weakness, openSsl) => {
    const weak = selfSigned(certificates, { ca, ...weakness })
    const service = await startSandbox({ tls: { ...weak, ciphers: 'DEFAULT@SECLEVEL=0' } })
    const { run } = fetchFrom(httpsUrl(service), TRUSTED)
    const line = RegExp(`the certificate of the service ${why}.* \\(${openSsl.source}\\)`)
    expect(await run).toEqual(failure(7, line, /ask the operator of the service .*/))
  })

  test('NODE_TLS_REJECT_UNAUTHORIZED=0 is refused', async () => {
    const service = await startSandbox({ tls: selfSigned(certificates) })
    const { run } = fetchFrom(httpsUrl(service), { NODE_TLS_REJECT_UNAUTHORIZED: '0' })
    expect(await run).toEqual(
      failure(2, /NODE_TLS_REJECT_UNAUTHORIZED=0 .*/, /.*NODE_TLS_REJECT_UNAUTHORIZED.*/),
    )
    expect(service.requests).toEqual([])
  })
})

describe('redirects', () => {
  test('from http on this machine to https on the same host', async () => {
    const service = await startSandbox({ tls: good, redirect: true })
    const { run } = fetchFrom(localhost(service.url), TRUSTED)
    expect(await run).toMatchObject({ code: 0, stdout: '' })
    expect(service.requests.map(({ secure }) => secure)).toEqual([false, true])
    const [, followed] = service.requests
    expect(followed?.query.get('version')).toBeTruthy()
    expect(followed?.count).toBe(1)
  })

  test('to another path of the same host', async () => {
    const service = await startSandbox({ tls: good })
    service.fault({ kind: 'redirect', location: '/sims/profiles?version=1.0.0&again', status: 307 })
    expect(await fetchFrom(httpsUrl(service), TRUSTED).run).toMatchObject({ code: 0 })
    expect(service.requests.map(({ status }) => status)).toEqual([307, 200])
  })

  test.each([
    ['another host', (other: Sandbox) => httpsUrl(other).replace('localhost', '127.0.0.1')],
    ['plain http', (other: Sandbox) => localhost(other.url)],
  ])('to %s is refused, and nothing is sent there', async (_, locate) => {
    const [service, other] = await Promise.all([startSandbox({ tls: good }), startSandbox({ tls: good })])
    service.fault({ kind: 'redirect', location: locate(other), times: 20 })
    const { run } = fetchFrom(httpsUrl(service), TRUSTED)
    expect(await run).toEqual(failure(7, /the service redirects to .*not https on the same host.*/))
    expect([service.requests.length, other.requests.length]).toEqual([1, 0])
  })

  test('from plain http to another plain http is refused', async () => {
    const [service, other] = await Promise.all([startSandbox(), startSandbox()])
    service.fault({ kind: 'redirect', location: other.url })
    expect(await fetchFrom(service.url).run).toMatchObject({ code: 7 })
    expect(other.requests).toEqual([])
  })

  const LOOP = { kind: 'redirect', location: '/sims/profiles?version=1.0.0' } as const

  test('five in a row are followed', async () => {
    const service = await startSandbox({ tls: good })
    service.fault({ ...LOOP, times: 5 })
    expect(await fetchFrom(httpsUrl(service), TRUSTED).run).toMatchObject({ code: 0 })
    expect(service.requests.map(({ status }) => status)).toEqual([...Array(5).fill(308), 200])
  })

  test('in a loop ends at the sixth', async () => {
    const service = await startSandbox({ tls: good })
    service.fault({ ...LOOP, times: 1000 })
    const { run } = fetchFrom(httpsUrl(service), TRUSTED)
    expect(await run).toEqual(failure(7, /the service redirects more than 5 times.*/))
    expect(service.requests).toHaveLength(6)
  })
})

describe('a proxy', () => {
  const tunnels: Tunnel[] = []
  const tunnel = async (options?: Parameters<typeof startTunnel>[0]) => {
    const each = await startTunnel(options)
    tunnels.push(each)
    return each
  }
  afterEach(() => {
    for (const each of tunnels.splice(0)) each.close()
  })

  test.each(['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy', 'HTTP_PROXY'])(
    '%s is used for https, and the proxy sees only encrypted data',
    async (name) => {
      const [service, proxy] = [await startSandbox({ tls: good }), await tunnel()]
      const { run, directory } = fetchFrom(httpsUrl(service), { ...TRUSTED, [name]: proxy.url })
      expect(await run).toMatchObject({ code: 0, stdout: '' })
      expect(namesIn(directory)).toHaveLength(1)
      expect(proxy.targets).toEqual([new URL(httpsUrl(service)).host])
      expect(JSON.stringify(proxy.headers)).not.toContain(API_KEY)
    },
  )

  test('HTTPS_PROXY comes before ALL_PROXY, and that before HTTP_PROXY', async () => {
    const [service, first, second] = [await startSandbox({ tls: good }), await tunnel(), await tunnel()]
    const pairs = [
      { HTTPS_PROXY: first.url, ALL_PROXY: second.url },
      { ALL_PROXY: first.url, HTTP_PROXY: second.url },
    ]
    for (const pair of pairs) await fetchFrom(httpsUrl(service), { ...TRUSTED, ...pair }).run
    expect([first.targets.length, second.targets.length]).toEqual([2, 0])
  })

  test('with TLS and an IP address: no warning of Node', async () => {
    const own = selfSigned(certificates, { ca, host: '127.0.0.1' })
    const [service, proxy] = [await startSandbox({ tls: good }), await tunnel({ tls: own })]
    const { run } = fetchFrom(httpsUrl(service), { ...TRUSTED, HTTPS_PROXY: proxy.url })
    expect(await run).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^softsim: stored 1 profile .*\nsoftsim: .* is new, .*\n$/),
    })
  })

  test.each(['localhost', '*', '.test,localhost'])('NO_PROXY=%s bypasses it', async (hosts) => {
    const [service, proxy] = [await startSandbox({ tls: good }), await tunnel()]
    const env = { ...TRUSTED, HTTPS_PROXY: proxy.url, NO_PROXY: hosts }
    expect(await fetchFrom(httpsUrl(service), env).run).toMatchObject({ code: 0 })
    expect(proxy.targets).toEqual([])
  })

  test('is never used for plain http, which would reveal the key', async () => {
    const [service, proxy] = [await startSandbox(), await tunnel()]
    const env = { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url }
    expect(await fetchFrom(service.url, env).run).toMatchObject({ code: 0 })
    expect(proxy.targets).toEqual([])
  })

  test('certificates are also checked through it', async () => {
    const [service, proxy] = [await startSandbox({ tls: selfSigned(certificates) }), await tunnel()]
    const { run } = fetchFrom(httpsUrl(service), { HTTPS_PROXY: proxy.url })
    expect(await run).toEqual(failure(7, /the certificate of the service is self-signed.*/))
    expect(service.requests).toEqual([])
  })

  test.each([
    [
      407,
      /the proxy requires a valid user name and password \(407\)/,
      /.*HTTPS_PROXY.*http:\/\/user:password@.*/,
    ],
    [403, /the proxy refuses to connect to the service \(403\)/, /ask the operator of the proxy .*/],
    [400, /the proxy refuses to connect to the service \(400\)/, /ask the operator of the proxy .*/],
  ])('that returns %i is reported with a hint and without its password', async (status, why, hint) => {
    const refusals = [status, status]
    const [service, proxy] = [
      await startSandbox({ tls: good }),
      await tunnel({ user: 'me:proxy-password', refusals }),
    ]
    const env = { ...TRUSTED, HTTPS_PROXY: proxy.url }
    expect(await fetchFrom(httpsUrl(service), env).run).toEqual(failure(7, why, hint))
    expect(proxy.headers[0]?.['proxy-authorization']).toMatch(/^Basic /)
    const { stderr } = await fetchFrom(httpsUrl(service), env, ['-vvv']).run
    expect(stderr).not.toContain('proxy-password')
    expect(stderr).not.toContain(API_KEY)
    expect(service.requests).toEqual([])
  })

  test.each(['socks5', 'socks', 'socks5h', 'socks4'])(
    'a SOCKS proxy (%s) is refused at once',
    async (scheme) => {
      const service = await startSandbox({ tls: good })
      const { run } = fetchFrom(httpsUrl(service), { ...TRUSTED, HTTPS_PROXY: `${scheme}://127.0.0.1:1` })
      expect(await run).toEqual(failure(2, /HTTPS_PROXY names a SOCKS proxy, .*/, /.*http:\/\/proxy.*/))
      const all = fetchFrom(httpsUrl(service), { ALL_PROXY: `${scheme}://127.0.0.1:1` })
      expect(await all.run).toEqual(failure(2, /ALL_PROXY names a SOCKS proxy, .*/, /.*http:\/\/proxy.*/))
      expect(service.requests).toEqual([])
    },
  )

  test('that refuses for a while or closes the connection is retried, because nothing was sent', async () => {
    const [service, proxy] = [
      await startSandbox({ tls: good }),
      await tunnel({ refusals: [500, 502, 503, 0] }),
    ]
    const { run, directory } = fetchFrom(httpsUrl(service), { ...TRUSTED, HTTPS_PROXY: proxy.url })
    const { code, stderr } = await run
    expect([code, service.requests.length, proxy.targets.length]).toEqual([0, 1, 5])
    expect(stderr).not.toMatch(/failed after|allocated/)
    expect(namesIn(directory)).toHaveLength(1)
  })
})

test('nothing of all that shows the API key, in an option or in the environment', async () => {
  const tls = selfSigned(certificates)
  const { url, ...service } = await startSandbox({ tls, redirect: true })
  const proxy = await startTunnel({ refusals: [407, 407] })
  const trusted = { NODE_EXTRA_CA_CERTS: tls.certPath }
  const codes: unknown[] = []
  for (const [from = '', env] of [
    [service.httpsUrl, trusted],
    [localhost(url), trusted],
    [service.httpsUrl],
    [url],
    [service.httpsUrl, { ...trusted, HTTPS_PROXY: proxy.url }],
  ] as const)
    for (const args of [['-vvv'], ['-vvv', '-a', API_KEY]]) {
      const { code, stdout, stderr } = await fetchFrom(from, env, args).run
      codes.push(code)
      expect(stderr).not.toBe('')
      expect(stdout + stderr).not.toContain(API_KEY)
    }
  expect(codes).toEqual([0, 0, 0, 0, 7, 7, 7, 7, 7, 7])
  proxy.close()
})
