import { describe, expect, test } from 'vitest'
import { type Answer, cacheFailure, profilesIn, readAnswer } from '../../src/service/answer.ts'
import { CallFailure } from '../../src/service/call-failure.ts'
import { hiding } from '../../src/words.ts'
import { iccid } from '../support/profiles.ts'

const KEY = 'softsim-key-c0ffee'
const URL_OF_SERVICE = new URL('https://host/sims/profiles')
const GOOD = { iccid: iccid(1), profile: 'AAEC/w==' }
const listOf = (...profiles: unknown[]) => JSON.stringify({ count: profiles.length, profiles })

const read = (body: string, more: Partial<Answer> = {}) =>
  readAnswer({ status: 200, headers: {}, hide: hiding(KEY), ...more, body }, URL_OF_SERVICE)

function failureOf(...answer: Parameters<typeof read>): CallFailure {
  try {
    read(...answer)
  } catch (error) {
    if (error instanceof CallFailure) return error
  }
  throw new Error('no failure')
}

describe('an answer from a cache is no stock', () => {
  test.each([
    { age: '35' },
    { age: '0.5' },
    { age: '2, 0' },
    { age: ['0', '35'] },
    { age: '99999999999999999999' },
    { age: '"35"' },
    { 'x-cache': 'HIT' },
    { 'x-cache-hits': '0, 1' },
    { 'x-varnish': '32770 3' },
    { 'x-cache': 'Hit from cloudfront' },
    { 'x-cache': 'RefreshHit from cloudfront' },
    { 'x-cache': 'TCP_MEM_HIT from a23-45.deploy.akamaitechnologies.com' },
    { 'x-cache': 'MISS, HIT' },
    { 'x-cache-status': 'STALE' },
    { 'cf-cache-status': 'UPDATING' },
    { 'cf-cache-status': 'REVALIDATED' },
    { 'x-varnish-cache': 'HIT' },
    { 'x-cache': `HIT ${'x'.repeat(999)}` },
    { 'akamai-cache-status': 'Hit from child' },
    { 'x-nginx-cache': 'HIT' },
    { 'cache-status': 'gateway; hit' },
    { 'cache-status': 'origin; fwd=uri-miss; stored, "edge 7"; hit; ttl=30' },
  ])('%j', (headers) => {
    const failure = cacheFailure(200, headers)
    expect(failure).toMatchObject({ outcome: 'service', traits: { isRepeated: true } })
    expect(failure?.message).toMatch(
      /^the answer is from a cache \(.{1,200}\): other devices may have its profiles/,
    )
    // What a cache says of an empty stock, or of a key, is nothing that the service says now.
    expect(cacheFailure(404, headers)?.outcome).toBe('service')
    expect(cacheFailure(401, headers)?.outcome).toBe('service')
    // No profile is in a failure: it may pass, whoever says it.
    for (const status of [429, 503]) expect(cacheFailure(status, headers)).toBe(undefined)
  })

  test.each([
    { age: '0' },
    { age: 'old' },
    { via: '1.1 gateway.example (squid/6.1)' },
    { 'x-cache': 'MISS from hit.example' },
    { 'x-cache': 'Miss from cloudfront' },
    { 'x-cache': 'MISS from white-proxy' },
    { 'x-cache-lookup': 'HIT from proxy.example:3128' },
    { 'x-cache-hits': '0' },
    { 'x-varnish': '32770' },
    { 'x-cache-key': '/hit' },
    { 'cf-cache-status': 'DYNAMIC' },
    { 'cache-status': 'hit.example; fwd=miss; stored' },
    { 'cache-status': '"hit"; fwd=bypass' },
    { 'cache-status': 'gateway; hit=?0; fwd=stale' },
  ])('%j says nothing of that', (headers) => {
    expect(cacheFailure(200, headers)).toBe(undefined)
  })
})

test('each entry is checked on its own, by the check that next has, and named if it has an ICCID', () => {
  const bad = [
    null,
    5,
    [GOOD],
    { profile: 'AAAA' },
    { iccid: iccid(2) },
    { ...GOOD, iccid: 89880000000000000 },
  ]
  const ids = ['', '8988', '8'.repeat(21), '../../x', `${iccid(2)}\n`].map((each) => ({
    ...GOOD,
    iccid: each,
  }))
  const texts = ['', 'AAA*', 'AA-_', 'AAAAA', 'A===', { a: 1 }].map((profile) => ({
    iccid: iccid(3),
    profile,
  }))
  const all = [...bad, ...ids, ...texts]
  const { profiles, refused } = read(listOf(GOOD, ...all, { ...GOOD, more: { a: [{}] } }))
  expect(profiles).toEqual([GOOD, GOOD])
  expect(refused).toHaveLength(all.length)
  // A number has lost its last digits.
  expect(refused[5]).toMatch(/^entry 7: /)
  expect(refused.filter((each) => each.includes(`(ICCID ${iccid(2)})`))).toHaveLength(1)
  expect(refused.filter((each) => each.includes(`(ICCID ${iccid(3)})`))).toHaveLength(texts.length)
})

test('a bad entry is named by its digits alone', () => {
  const { refused } = read(listOf(GOOD, { iccid: `${iccid(2, 19)}F`, profile: '*' }, { ...GOOD, iccid: KEY }))
  expect(refused).toEqual([
    `entry 2 (ICCID ${iccid(2, 19)}): the encrypted profile in it is not base64`,
    'entry 3: the ICCID in it is not 18 to 20 digits',
  ])
})

test('a list without an entry: there are no more', () => {
  const { message, hint, outcome, traits } = failureOf(listOf())
  expect([outcome, message, hint]).toEqual([
    'no-profiles',
    'the service has no more profiles',
    'ask the service provider for more; if your account has some, check the URL of the service',
  ])
  expect(traits.mayHaveAllocated).toBeUndefined()
})

test('a byte order mark is ignored', () => {
  expect(read(`\ufeff${listOf(GOOD)}`).profiles).toEqual([GOOD])
})

describe('what can not be read', () => {
  test.each(['', 'null', '[]', '{"profiles":{}}', 'no\u001b[2J', '{"error":"no"}', '\0'])('%j', (body) => {
    const failure = failureOf(body)
    expect(failure).toMatchObject({ outcome: 'service', traits: { mayHaveAllocated: true, profiles: [] } })
    expect(failure.message).toBe(`the answer is not JSON with a list named "profiles"${body && `: ${body}`}`)
  })

  test('its first 200 characters are shown, and the key in them is not', () => {
    expect(failureOf('x'.repeat(20_000)).message).toMatch(/: x{200}$/)
    // No letter is cut in two.
    expect(failureOf(`x${'\u{1f600}'.repeat(300)}`).message).toMatch(/: x\u{1f600}{199}$/u)
    for (const text of [`{"key":"${KEY}"}`, `${' '.repeat(16_370)}${KEY}`, `${'x'.repeat(190)}${KEY}`])
      expect(failureOf(text).message).not.toMatch(/soft/)
  })

  test('a web page costs nothing', () => {
    const failure = failureOf('<html><title>Log in</title>')
    expect(failure.message).toBe('the answer is a web page: Log in')
    expect(failure.traits.mayHaveAllocated).toBeUndefined()
    expect(failureOf('\r\n <html><title>Log in</title>').message).toBe('the answer is a web page: Log in')
  })

  test('of a long page, the first part may have the title, and no end of a long key is shown', () => {
    const pageWith = (before: number, length: number) => {
      const begin = `<html>${' '.repeat(before)}<title>Log in</title>`
      return failureOf(begin.padEnd(length, '.')).message
    }
    expect(pageWith(16_000, 16 * 1024)).toBe('the answer is a web page: Log in')
    expect(pageWith(12_000, 99_000)).toBe('the answer is a web page: Log in')
    const key = 'long-key'.repeat(50)
    const cut = failureOf(`${' '.repeat(16_100)}${key}`, { hide: hiding(key) })
    expect(cut.message).not.toContain('key')
  })

  test('a large entry is kept, too', () => {
    const large = { ...GOOD, profile: 'A'.repeat(60_000) }
    expect(profilesIn(listOf(large, GOOD).slice(0, -1))).toEqual([large, GOOD])
  })

  const nested = { ...GOOD, meta: { tags: [{ a: '}' }], note: '"{' } }
  const other = { ...GOOD, iccid: iccid(2) }

  test.each<[string, string, number]>([
    ['breaks off', listOf(GOOD, other, GOOD).slice(0, -20), 2],
    ['breaks off, with objects in its entries', listOf(nested, { x: {} }, nested, nested).slice(0, -9), 2],
    ['breaks off in a string that has braces in it', listOf(nested, nested).slice(0, -12), 1],
    ['has a list of another name', JSON.stringify({ data: { sims: [GOOD, nested] } }), 2],
    ['is a bare list', JSON.stringify([GOOD, nested]), 2],
    ['has a profile a line', `${JSON.stringify(GOOD)}\n${JSON.stringify(nested)}\n`, 2],
    ['has a comma too many', `{"profiles":[${JSON.stringify(nested)},]}`, 1],
    ['has an odd quote before it', `Notice: 5" tape\n${listOf(GOOD, other)}`, 2],
    ['is nothing', '', 0],
    ['is deep', '{"a":'.repeat(50_000), 0],
  ])('that %s: its complete profiles are kept', (_, body, count) => {
    const found = profilesIn(body)
    expect(found.length).toBeGreaterThanOrEqual(count)
    expect(found[0]).toEqual(count > 0 ? GOOD : undefined)
  })
})

test.each<[status: number, outcome: string, isPassing: boolean, mayHaveAllocated: boolean]>([
  ...[401, 403].map((each) => [each, 'api-key', false, false] as [number, string, boolean, boolean]),
  [404, 'no-profiles', false, false],
  ...[300, 400, 405, 407, 501, 505, 511].map((each) => [each, 'service', false, false] as never),
  ...[408, 429].map((each) => [each, 'service', true, false] as never),
  // A gateway has lost an answer, or a service that failed has allocated first.
  ...[500, 502, 503, 504, 520, 524, 599].map((each) => [each, 'service', true, true] as never),
  // The service has taken the request.
  [204, 'service', false, true],
])('%i: %s, may pass: %s, may have cost profiles: %s', (status, outcome, isPassing, mayHaveAllocated) => {
  const { traits, ...failure } = failureOf('says why', { status })
  expect([failure.outcome, traits.isPassing ?? false, traits.mayHaveAllocated ?? false]).toEqual([
    ...[outcome, isPassing, mayHaveAllocated],
  ])
})

test.each([{ 'retry-after': 'soon' }, { 'x-ratelimit-remaining': '0' }])(
  '503 with %j, which is no time to retry, may have cost profiles',
  (headers) => {
    expect(failureOf('', { status: 503, headers }).traits.mayHaveAllocated).toBe(true)
  },
)

test('an error asks for no pause if requests are left, or if it does not say how many', () => {
  const headers = { 'x-ratelimit-remaining': '3', 'x-ratelimit-reset': '30' }
  const pauses = [{}, headers].map((each) => failureOf('', { status: 502, headers: each }).traits.pauseMs)
  expect(pauses).toEqual([0, 0])
})

test('a time to retry says only with 503 that nothing was started', () => {
  const headers = { 'retry-after': '5', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '5' }
  for (const status of [500, 502, 504])
    expect(failureOf('', { status, headers }).traits).toMatchObject({
      mayHaveAllocated: true,
      pauseMs: 5000,
    })
})

test('429 asks for a pause: as long as it says, or of a minute', () => {
  const pauses = [{ 'retry-after': '7' }, { 'x-ratelimit-reset': '9' }, {}].map((headers) => {
    const { message, hint, traits } = failureOf('slow down', { status: 429, headers })
    expect([message, hint]).toEqual(['the rate limit is reached (429): slow down', 'try again later'])
    return traits.pauseMs
  })
  expect(pauses).toEqual([7000, 9000, 60_000])
})

test.each([
  [401, 'the service does not accept the API key (401): why', 'use an API key for SoftSIM profiles'],
  [
    403,
    'the service does not accept the API key (403): why',
    'use an API key for SoftSIM profiles; or check the URL of the service',
  ],
  [
    404,
    'the service has no more profiles (404): why',
    'ask the service provider for more; if your account has some, check the URL of the service',
  ],
  [
    500,
    'the service answered 500: why',
    'check the URL of the service, and try again later; if that does not help, tell the operator of the service',
  ],
])('%i: %s, and what helps', (status, message, hint) => {
  expect(failureOf('why', { status })).toMatchObject({ message, hint })
})

test('503 with a time to retry costs nothing', () => {
  const { traits } = failureOf('', { status: 503, headers: { 'retry-after': '120' } })
  expect(traits).toMatchObject({ isPassing: true, mayHaveAllocated: false, pauseMs: 120_000 })
})

test.each([
  ['https://other.example/login?key=softsim-key-c0ffee', 'https://other.example/login'],
  ['/moved?version=1', 'https://host/moved'],
  [`https://host/${KEY}`, 'https://host/***'],
])('a redirect to %s is named, and not followed', (location, named) => {
  const failure = failureOf('', { status: 308, headers: { location } })
  expect(failure.message).toBe(`the service redirects to ${named} (308)`)
})

test('an error with a location, or a redirect without one, is no redirect', () => {
  const headers = { location: 'https://other.example/' }
  expect(failureOf('', { status: 400, headers }).message).toBe('the service answered 400')
  expect(failureOf('', { status: 302 }).message).toBe('the service answered 302')
})

test('of an error page, the title is shown; of another text, its beginning, without the key', () => {
  const said = (body: string, type = '') =>
    failureOf(body, { status: 502, headers: { 'content-type': type } }).message
  expect(said('<html>\r\n<head><title>502 Bad\r\n Gateway</title>')).toMatch(/502: 502 Bad Gateway$/)
  expect(said('<p>down</p>', 'text/html; charset=utf-8')).toMatch(/answered 502$/)
  expect(said(' a < b\n', 'text/plain')).toMatch(/: a < b$/)
  for (const text of [
    `<title>soft&#115;im-key-c0ffee</title>`,
    `${' '.repeat(199)}${KEY}`,
    `${' '.repeat(16_380)}${KEY}`,
  ])
    expect(said(text)).not.toMatch(/soft/)
})
