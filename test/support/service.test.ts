/** What the service of the tests refuses; what it grants, and how it misbehaves, is seen in the tests that ask it to. */
import { request } from 'undici'
import { expect, inject, onTestFinished, test } from 'vitest'
import { startService } from './service.ts'

test('refuses a count out of range and a call without a version', async () => {
  const service = await startService({
    apiKeys: [{ key: 'soft', kind: 'softsim', publicKey: inject('keys').publicKey }],
  })
  onTestFinished(() => service.close())
  const headers = { authorization: 'soft', 'content-type': 'application/json' }
  const call = async (count: unknown, query: string) => {
    const body = JSON.stringify({ count })
    return (await request(service.url + query, { method: 'GET', headers, body })).statusCode
  }
  for (const count of [0, 1001, 1.5, '1', null]) expect(await call(count, '?version=1.0.0')).toBe(400)
  expect([await call(1, ''), service.allocated.size]).toEqual([400, 0])
  expect(await call(1, '?version=1.0.0')).toBe(200)
})
