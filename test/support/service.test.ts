/** What the service of the tests grants and refuses; how it misbehaves is seen in the tests that ask it to. */
import { constants, privateDecrypt } from 'node:crypto'
import { request } from 'undici'
import { afterEach, expect, inject, test } from 'vitest'
import { type Service, type ServiceOptions, startService } from './service.ts'
import { until } from './softsim.ts'

const { publicKey, privateKey } = inject('keys')
let service: Service

interface Entry {
  iccid: string
  profile: string
}

async function start(options: Partial<ServiceOptions> = {}) {
  const apiKeys: ServiceOptions['apiKeys'] = [
    { key: 'soft', kind: 'softsim', publicKey },
    { key: 'plain', kind: 'normal' },
  ]
  service = await startService({ apiKeys, ...options })
}

async function call(count: unknown, { url = service.url, key = 'soft', query = '?version=1.0.0' } = {}) {
  const headers = { authorization: key, 'content-type': 'application/json' }
  const response = await request(url + query, { method: 'GET', headers, body: JSON.stringify({ count }) })
  const text = await response.body.text()
  return {
    status: response.statusCode,
    profiles: (): Entry[] => JSON.parse(text).profiles,
  }
}

afterEach(() => service.close())

test('allocates each profile once, encrypted for the key of the caller', async () => {
  await start()
  const answers = await Promise.all([call(3), call(4)])
  const entries = answers.flatMap((answer) => answer.profiles())
  expect(new Set(entries.map(({ iccid }) => iccid)).size).toBe(7)
  await until(() => service.delivered.size === 7)
  for (const { iccid, profile } of entries) {
    const options = { key: privateKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha1' }
    const plain = JSON.parse(privateDecrypt(options, Buffer.from(profile, 'base64')).toString())
    expect([plain, plain.iccid]).toEqual([service.delivered.get(iccid), iccid])
  }
  expect(service.allocated).toEqual(service.delivered)
})

test('refuses a count out of range and a call without a version', async () => {
  await start()
  for (const count of [0, 1001, 1.5, '1', null]) expect((await call(count)).status).toBe(400)
  expect((await call(1, { query: '' })).status).toBe(400)
  expect(service.allocated.size).toBe(0)
})
