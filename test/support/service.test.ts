import { constants, privateDecrypt } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { Agent, request } from 'undici'
import { afterAll, afterEach, expect, inject, test } from 'vitest'
import { rsaKeyPair, selfSigned } from './keys.ts'
import { type PlainProfile, storedFile } from './profiles.ts'
import { type Service, type ServiceOptions, startService } from './service.ts'
import { until } from './softsim.ts'

const { publicKey, privateKey } = inject('keys')
const apiKeys: ServiceOptions['apiKeys'] = [
  { key: 'soft', kind: 'softsim', publicKey },
  { key: 'plain', kind: 'normal' },
]
const dir = mkdtempSync(join(tmpdir(), 'softsim-service-'))
const ca = selfSigned(dir)
const dispatcher = new Agent({ connect: { ca: ca.cert } })
let service: Service

interface Entry {
  iccid: string
  profile: string
}

async function start(options: Partial<ServiceOptions> = {}) {
  service = await startService({ apiKeys, ...options })
}

async function call(count: unknown, { url = service.url, key = 'soft', query = '?version=1.0.0' } = {}) {
  const headers = { authorization: key, 'content-type': 'application/json' }
  const body = JSON.stringify({ count })
  const response = await request(url + query, { method: 'GET', headers, body, dispatcher })
  const text = await response.body.text()
  const profiles = (): Entry[] => JSON.parse(text).profiles
  return { status: response.statusCode, headers: response.headers, text, profiles }
}

function decrypt(profile: string, key = privateKey): PlainProfile {
  const options = { key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha1' }
  return JSON.parse(privateDecrypt(options, Buffer.from(profile, 'base64')).toString())
}

const iccids = (entries: Entry[]) => entries.map(({ iccid }) => iccid)
const statuses = () => service.requests.map(({ status }) => status)

/** The server side of a connection hears of its end a little after the client does. */
const settled = (expected: (number | 'dropped')[]) => until(() => isDeepStrictEqual(statuses(), expected))

afterEach(() => service.close())
afterAll(async () => {
  await dispatcher.destroy()
  rmSync(dir, { recursive: true })
})

test('allocates each profile once, encrypted for the key of the caller', async () => {
  await start()
  const answers = await Promise.all([call(3), call(4)])
  const entries = answers.flatMap((answer) => answer.profiles())
  expect(new Set(iccids(entries)).size).toBe(7)
  await settled([200, 200])
  for (const { iccid, profile } of entries) {
    expect(iccid).toMatch(/^8988\d{16}$/)
    expect(decrypt(profile)).toEqual(service.delivered.get(iccid))
    expect(decrypt(profile).iccid).toBe(iccid)
  }
  expect(service.allocated).toEqual(service.delivered)
})

test('counts 19-digit ICCIDs from the given start', async () => {
  await start({ firstIccid: 7, iccidDigits: 19 })
  const [first, second] = iccids((await call(2)).profiles())
  expect([first?.slice(0, -1), second?.slice(0, -1)]).toEqual(['898800000000000007', '898800000000000008'])
})

test('with allProfilesAlike, only the ICCID beside the ciphertext differs', async () => {
  await start({ allProfilesAlike: true })
  const entries = (await call(1000)).profiles()
  expect(new Set(iccids(entries)).size).toBe(1000)
  expect(new Set(entries.map(({ profile }) => profile)).size).toBe(1)
  expect(decrypt(entries[0]?.profile ?? '')).not.toHaveProperty('iccid')
  await until(() => service.delivered.size === 1000)
})

test('each kind of API key has its own endpoint', async () => {
  await start()
  const elsewhere = service.url.replace('/profiles', '')
  expect((await call(1, { key: 'unknown' })).status).toBe(401)
  expect((await call(1, { key: 'plain' })).status).toBe(403)
  expect((await call(1, { url: elsewhere })).status).toBe(403)
  expect((await call(1, { url: elsewhere, key: 'plain' })).status).toBe(404)
  expect(service.allocated.size).toBe(0)
})

test('refuses a count out of range and a call without a version', async () => {
  await start()
  for (const count of [0, 1001, 1.5, '1', null]) expect((await call(count)).status).toBe(400)
  expect((await call(1, { query: '' })).status).toBe(400)
  expect(service.requests.map(({ count }) => count)).toEqual([0, 1001, undefined, undefined, undefined, 1])
  expect(service.allocated.size).toBe(0)
})

test('returns what is left, then 404', async () => {
  await start({ supply: 3 })
  expect((await call(2)).profiles()).toHaveLength(2)
  expect((await call(2)).profiles()).toHaveLength(1)
  expect((await call(2)).status).toBe(404)
})

test('limits the calls of each key by its own clock, and starts again with the next window', async () => {
  await start({ callsPerMinute: 1, windowSeconds: 0.01, clockOffsetSeconds: -3600 })
  const before = Date.now() / 1000 - 3600
  const { headers } = await call(1)
  expect(headers).toMatchObject({ 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0' })
  const reset = Number(headers['x-ratelimit-reset'])
  expect(reset - before).toBeGreaterThan(0)
  expect(reset - before).toBeLessThan(60)
  expect(Date.parse(String(headers['date'])) / 1000 - before).toBeLessThan(60)
  await until(async () => (await call(1)).status === 200)
})

test('answers 429 beyond the limit, allocating nothing', async () => {
  await start({ callsPerMinute: 1 })
  await call(1)
  const { status, headers } = await call(1)
  expect(status).toBe(429)
  expect(headers['x-ratelimit-remaining']).toBe('0')
  expect(Number(headers['retry-after'])).toBeGreaterThan(0)
  expect((await call(1, { key: 'plain' })).status).toBe(403)
  expect(service.allocated.size).toBe(1)
})

test('listens with HTTPS, and redirects there on request', async () => {
  await start({ tls: selfSigned(dir, { ca }), redirect: true })
  const { status, headers } = await call(1)
  expect(status).toBe(308)
  expect(headers['location']).toBe(`${service.httpsUrl}?version=1.0.0`)
  expect((await call(1, { url: service.httpsUrl ?? '' })).profiles()).toHaveLength(1)
  expect(service.requests.map(({ secure }) => secure)).toEqual([false, true])
})

test('an expired certificate is not accepted', async () => {
  await start({ tls: selfSigned(dir, { ca, days: -1 }) })
  await expect(call(1, { url: service.httpsUrl ?? '' })).rejects.toMatchObject({ code: 'CERT_HAS_EXPIRED' })
})

test('a stored file opens with a key made by ssh-keygen', () => {
  const pair = rsaKeyPair(dir, 2048)
  const stored: Entry = JSON.parse(storedFile({ iccid: '8988', imsi: null }, pair.publicKey))
  expect(stored.iccid).toBe('8988')
  expect(decrypt(stored.profile, pair.privateKey)).toEqual({ iccid: '8988', imsi: null })
})

test('fault none lets a request pass, and times repeats a fault', async () => {
  await start()
  service.fault({ kind: 'none' }, { kind: 'status', status: 503, headers: { 'retry-after': '7' }, times: 2 })
  const answers = [await call(1), await call(1), await call(1), await call(1)]
  expect(answers.map(({ status }) => status)).toEqual([200, 503, 503, 200])
  expect(answers[1]?.headers['retry-after']).toBe('7')
  expect(service.allocated.size).toBe(2)
})

test('a refused request uses up no fault', async () => {
  await start()
  service.fault({ kind: 'status', status: 500 })
  expect((await call(1, { key: 'unknown' })).status).toBe(401)
  expect((await call(1)).status).toBe(500)
})

test.each([
  ['drop-before', 0],
  ['reset', 0],
  ['drop-after', 2],
  ['torn', 2],
] as const)('%s breaks the connection after allocating %i', async (kind, allocated) => {
  await start({ tls: ca })
  service.fault({ kind, times: 2 })
  for (const url of [service.url, service.httpsUrl]) await expect(call(1, { url })).rejects.toThrow()
  await settled(['dropped', 'dropped'])
  expect(service.allocated.size).toBe(allocated)
  expect(service.delivered.size).toBe(0)
})

test('reset resets the connection', async () => {
  await start()
  service.fault({ kind: 'reset' })
  await expect(call(1)).rejects.toMatchObject({ code: 'ECONNRESET' })
})

test('delay and drip slow down a complete response', async () => {
  await start({ latencyMs: 1, supply: 2 })
  service.fault({ kind: 'delay', ms: 10 }, { kind: 'drip', ms: 0 })
  expect((await call(1)).profiles()).toHaveLength(1)
  expect((await call(1)).profiles()).toHaveLength(1)
})

test('hold keeps the client waiting until it is released', async () => {
  await start()
  const { promise, resolve: release } = Promise.withResolvers<void>()
  service.fault({ kind: 'hold', until: promise })
  const answer = call(3)
  await until(() => service.allocated.size === 3)
  expect(statuses()).toEqual([undefined])
  release()
  expect((await answer).profiles()).toHaveLength(3)
})

test('short returns fewer profiles, bad-entries adds entries, and replaced entries take the place of others', async () => {
  await start()
  const entries = [{ iccid: 'no digits' }, 5]
  service.fault(
    { kind: 'short', by: 2 },
    { kind: 'bad-entries', entries },
    { kind: 'replace', profiles: entries },
  )
  expect((await call(3)).profiles()).toHaveLength(1)
  const mixed = (await call(1)).profiles()
  expect(mixed).toHaveLength(3)
  expect(mixed.slice(1)).toEqual(entries)
  expect((await call(1)).profiles()).toEqual(entries)
  expect(service.allocated.size).toBe(2)
})

test('repeat returns the same response again', async () => {
  await start()
  service.fault({ kind: 'none' }, { kind: 'repeat' })
  const first = await call(2)
  await settled([200])
  expect((await call(5)).text).toBe(first.text)
})

test('gzip compresses', async () => {
  await start()
  service.fault({ kind: 'gzip' })
  expect((await call(1)).headers['content-encoding']).toBe('gzip')
})

test('garbage, a redirect and a huge body are sent unchanged', async () => {
  await start()
  service.fault({ kind: 'garbage', body: '<html>', contentType: 'text/html', status: 502 })
  service.fault({ kind: 'redirect', location: 'https://elsewhere.test/', status: 302 })
  service.fault({ kind: 'huge', bytes: 1_000_000 })
  expect(await call(1)).toMatchObject({
    status: 502,
    text: '<html>',
    headers: { 'content-type': 'text/html' },
  })
  expect(await call(1)).toMatchObject({ status: 302, headers: { location: 'https://elsewhere.test/' } })
  expect((await call(1)).text).toHaveLength(1_000_000)
  expect(service.allocated.size).toBe(0)
})

test('an endless body ends when the client disconnects', async () => {
  await start()
  service.fault({ kind: 'huge' })
  const headers = { authorization: 'soft', 'content-type': 'application/json' }
  const body = JSON.stringify({ count: 1 })
  const response = await request(`${service.url}?version=1`, { method: 'GET', headers, body })
  response.body.on('error', () => {}).destroy()
  await settled(['dropped'])
})

test('closing breaks open connections', async () => {
  await start()
  service.fault({ kind: 'delay', ms: 60_000 })
  const broken = expect(call(1)).rejects.toThrow()
  await until(() => service.allocated.size === 1)
  await service.close()
  await broken
})
