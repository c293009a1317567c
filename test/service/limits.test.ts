/** How long a client waits, as the manual says it: no test can wait for that, and so only what is asked of undici is seen. */
import { afterEach, expect, test, vi } from 'vitest'
import { clientOf } from '../../src/service/client.ts'

const made = vi.hoisted((): { options: object[] } => ({ options: [] }))

vi.mock('undici', async (original) => {
  const undici = await original<typeof import('undici')>()
  const noting = <T extends new (options: never) => object>(Kind: T) =>
    new Proxy(Kind, {
      construct(target, [options]) {
        made.options.push(options)
        return Reflect.construct(target, [options])
      },
    })
  return { ...undici, Agent: noting(undici.Agent), EnvHttpProxyAgent: noting(undici.EnvHttpProxyAgent) }
})

afterEach(() => {
  made.options.splice(0)
  vi.unstubAllEnvs()
})

/** 20 s to connect, over a certificate that is verified; 5 s for each address of a host. */
const CONNECT = { timeout: 20_000, rejectUnauthorized: true, autoSelectFamilyAttemptTimeout: 5000 }
/** Three minutes of silence; one second without a request, or as long as the service says, to ten seconds. */
const LIMITS = {
  ...{ headersTimeout: 180_000, bodyTimeout: 180_000, keepAliveTimeout: 1000, keepAliveMaxTimeout: 10_000 },
  ...{ allowH2: false, connect: CONNECT },
}

test('the limits of a connection to the service', async () => {
  await clientOf(new URL('http://127.0.0.1:1/'), 'softsim-key', () => {}).close()
  expect(made.options[0]).toEqual(LIMITS)
})

test('the limits of a connection through a proxy, for both of its parts', async () => {
  vi.stubEnv('https_proxy', 'http://127.0.0.1:1')
  await clientOf(new URL('https://127.0.0.1:1/'), 'softsim-key', () => {}).close()
  expect(made.options[0]).toMatchObject({
    ...LIMITS,
    ...{ connectTimeout: 20_000, proxyTls: CONNECT, requestTls: CONNECT },
    ...{ httpProxy: 'http://127.0.0.1:1', httpsProxy: 'http://127.0.0.1:1' },
  })
})
