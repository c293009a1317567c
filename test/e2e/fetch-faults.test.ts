import { existsSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { namesIn, unreadIn } from '../support/directory.ts'
import { failure } from '../support/promises.ts'
import { type Sandbox, startSandbox } from '../support/sandbox.ts'
import type { Fault } from '../support/service.ts'

const filesOf = (iccids: Iterable<string>) => [...iccids].map((iccid) => `${iccid}.json`).sort()

/** What was delivered is there, all of it and nothing else. */
function expectAllStored({ delivered, directory }: Sandbox): void {
  expect(namesIn(directory)).toEqual(filesOf(delivered.keys()))
}

test.concurrent.each<[string, Fault[]]>([
  ['429', [{ kind: 'status', status: 429, headers: { 'retry-after': '0' }, times: 2 }]],
  ['5xx', [500, 502, 504].map((status): Fault => ({ kind: 'status', status }))],
  ['503', [{ kind: 'status', status: 503, headers: { 'retry-after': '0' }, times: 2 }]],
  ['resets', [{ kind: 'reset', times: 2 }]],
  ['drops before the allocation', [{ kind: 'drop-before', times: 2 }]],
  ['drops after the allocation', [{ kind: 'drop-after', times: 2 }]],
  ['truncated responses', [{ kind: 'torn', times: 2 }]],
  ['short responses', [20, 10, 5].map((by): Fault => ({ kind: 'short', by }))],
])('%s: the right files are stored', async (_, faults) => {
  const sandbox = await startSandbox()
  sandbox.fault(...faults)
  expect(await sandbox.fetch(['-n', '40'])).toMatchObject({ code: 0, stdout: '' })
  expect(sandbox.delivered.size).toBe(40)
  expectAllStored(sandbox)
})

test.concurrent('all faults during parallel requests', async () => {
  const sandbox = await startSandbox()
  sandbox.fault(
    { kind: 'short', by: 20 },
    { kind: 'torn' },
    { kind: 'status', status: 429, headers: { 'retry-after': '0' } },
    { kind: 'reset' },
    { kind: 'drop-after' },
    { kind: 'status', status: 503, headers: { 'retry-after': '0' } },
  )
  const { code, stderr } = await sandbox.fetch(['-n', '4321'])
  expect(code).toBe(0)
  expect(sandbox.delivered.size).toBe(4321)
  expectAllStored(sandbox)
  // The reset came before the service allocated anything; nobody on this side can know that.
  expect(stderr).toMatch(
    /3 requests failed after (it was|they were) sent: up to \d+ profiles may have been allocated/,
  )
})

test.concurrent('the summary says how many profiles a broken request may have cost', async () => {
  const sandbox = await startSandbox()
  sandbox.fault({ kind: 'torn' })
  const { code, stderr } = await sandbox.fetch(['-n', '30'])
  expect(code).toBe(0)
  expect(stderr).toMatch(
    /1 request failed after it was sent: up to 30 profiles may have been allocated and not received/,
  )
  expect(sandbox.allocated.size - sandbox.delivered.size).toBe(30)
})

test.concurrent.each([429, 503])(
  '%i with a time to retry costs nothing and is not reported as a broken request',
  async (status) => {
    const { fetch, fault } = await startSandbox()
    fault({ kind: 'status', status, headers: { 'retry-after': '0' } })
    const { code, stderr } = await fetch()
    expect(code).toBe(0)
    expect(stderr).not.toMatch(/failed after|allocated/)
  },
)

test.concurrent('requests that a gateway loses are reported as broken, whatever the status', async () => {
  const sandbox = await startSandbox()
  sandbox.fault({ kind: 'none' }, ...[522, 524, 500].map((status): Fault => ({ kind: 'lost', status })))
  const { code, stderr } = await sandbox.fetch(['-n', '300'])
  expect(code).toBe(0)
  // The two hundred that are left after the first request, however fast that was; then one by one.
  expect(stderr).toMatch(/3 requests failed after they were sent: up to 202 profiles may have been allocated/)
  expect(sandbox.allocated.size - sandbox.delivered.size).toBe(202)
  expectAllStored(sandbox)
})

test.concurrent('if large responses break, fetch asks for fewer profiles and stores all', async () => {
  const sandbox = await startSandbox()
  // Some proxies are like this. Four hundred profiles are less, eight hundred are more.
  sandbox.fault({ kind: 'torn-after', bytes: 400_000, times: Number.POSITIVE_INFINITY })
  const { code, stderr } = await sandbox.fetch(['-n', '3000'])
  expect([code, sandbox.delivered.size]).toEqual([0, 3000])
  expectAllStored(sandbox)
  const burnt = sandbox.allocated.size - sandbox.delivered.size
  // Twice: a full batch at most, depending on how fast the first answers were; then a little more than what passes.
  expect(burnt).toBeLessThanOrEqual(1000 + 600)
  expect(stderr).toMatch(
    RegExp(`failed after .* up to ${burnt} profiles may have been allocated and not received`),
  )
  const broken = sandbox.requests.findIndex(({ status }) => status === 'dropped')
  expect(sandbox.asked()[0]).toBe(100)
  expect(sandbox.asked().slice(broken + 1, broken + 4)).toEqual([1, 2, 4])
})

test.concurrent('the title of a gateway’s error page is printed', async () => {
  const { fetch, fault } = await startSandbox()
  const body = '<html><head><title>400 Bad Request</title></head>\r\n<body><hr>nginx</body></html>'
  fault({ kind: 'garbage', status: 400, body, contentType: 'text/html' })
  expect(await fetch()).toEqual(failure(7, /the service answered 400: 400 Bad Request$/m))
})

test.concurrent.each([
  [400, 7],
  [401, 6],
  [403, 6],
  [404, 3],
])('%i is not retried and leads to exit code %i', async (status, code) => {
  const { fetch, fault, requests, directory } = await startSandbox()
  fault({ kind: 'status', status, times: 10 })
  expect(await fetch(['-n', '5000'])).toEqual(failure(code, /.+/))
  expect(requests).toHaveLength(1)
  expect(namesIn(directory)).toEqual([])
})

test.concurrent.each([
  [401, /.*5000 .*API key.*/],
  [404, /.*5000 .*no more profiles.*/],
])('%i after some profiles are stored', async (status, why) => {
  const sandbox = await startSandbox()
  sandbox.fault({ kind: 'none' }, { kind: 'status', status, times: 20 })
  const run = await sandbox.fetch(['-n', '5000'])
  expect(run).toMatchObject({ code: 8, stdout: '' })
  expect(run.stderr).toMatch(why)
  expectAllStored(sandbox)
  // A few run at once; none is asked again, and none begins after the first was refused.
  expect(sandbox.requests.length).toBeLessThanOrEqual(5)
})

test.concurrent.each<[string, Fault]>([
  ['a login page', { kind: 'garbage', body: '<html>Log in</html>', contentType: 'text/html' }],
  ['JSON without profiles', { kind: 'garbage', body: '{"error":"no"}' }],
  ['truncated JSON', { kind: 'garbage', body: '{"count":1,"profiles":[{"iccid":"8988' }],
  ['binary data', { kind: 'garbage', body: Buffer.from([0, 255, 27, 91, 50, 74]) }],
  ['a compressed response', { kind: 'gzip' }],
  ['an endless response', { kind: 'huge' }],
])('%s: exit code 7, and nothing is stored', async (_, fault) => {
  const { fetch, fault: queue, directory } = await startSandbox()
  queue({ ...fault, times: 10 })
  const { code, stdout, stderr } = await fetch(['-n', '5'])
  expect([code, stdout]).toEqual([7, ''])
  expect(stderr).toMatch(/^softsim: error: the answer .*/m)
  expect(stderr).not.toContain('\u001b')
  expect(namesIn(directory)).toEqual([])
})

test.concurrent.each<[string, Fault]>([
  ['an encoding that is none', { kind: 'dressed', encoding: 'identity' }],
  ['an empty encoding', { kind: 'dressed', encoding: '' }],
  ['an encoding that it does not have', { kind: 'dressed', encoding: 'gzip' }],
  ['a byte order mark', { kind: 'dressed', before: '\ufeff' }],
])('a response with %s is an answer like any other', async (_, fault) => {
  const sandbox = await startSandbox()
  sandbox.fault(fault)
  expect(await sandbox.fetch(['-n', '5'])).toMatchObject({ code: 0 })
  expect(sandbox.requests).toHaveLength(1)
  expectAllStored(sandbox)
})

test.concurrent('a response that can not be read is put aside as it came', async () => {
  const { fetch, fault, directory, delivered } = await startSandbox()
  const other = '{"error":"no"}'
  fault({ kind: 'gzip' }, { kind: 'garbage', body: other })
  const runs = [await fetch(['-n', '3']), await fetch(['-n', '3'])]
  expect(runs.map(({ code }) => code)).toEqual([7, 7])
  const warning = /^softsim: warning: the answer is put aside in .+\.damaged$/m
  for (const { stderr } of runs) expect(stderr).toMatch(warning)
  const texts = unreadIn(directory).map((each) => (each[0] === 0x1f ? gunzipSync(each) : each).toString())
  const lost = texts.find((each) => each !== other) ?? ''
  expect(texts).toHaveLength(2)
  expect(JSON.parse(lost).profiles.map(({ iccid }: { iccid: string }) => iccid)).toEqual([
    ...delivered.keys(),
  ])
  // Neither the next call nor a station touches them.
  expect(await fetch(['-n', '1'])).toMatchObject({ code: 0 })
  expect(unreadIn(directory)).toHaveLength(2)
})

const badEntries = (count: number) =>
  Array.from({ length: count }, () => ({ iccid: 'none', profile: 'AAAA' }))

test.concurrent('entries that can not be used are counted, and their answers are put aside', async () => {
  const { fetch, fault, directory } = await startSandbox()
  fault({ kind: 'bad-entries', entries: badEntries(60) })
  const { code, stderr } = await fetch(['-n', '90'])
  expect(code).toBe(0)
  expect(stderr).toMatch(/^softsim: stored 90 profiles in .+, 60 received that can't be used \(1 /m)
  expect(stderr).toMatch(/^softsim: warning: entry 150: .*; not stored$/m)
  const [kept = ''] = unreadIn(directory).map(String)
  expect(JSON.parse(kept).profiles).toHaveLength(150)
})

test.concurrent('a service of whose entries few are good is not asked on and on', async () => {
  const sandbox = await startSandbox()
  const answers = [60, 30, 60].map((bad, at): Fault => {
    const good = { iccid: `8988000000000000010${at}`, profile: 'AAAA' }
    return { kind: 'replace', profiles: [good, ...badEntries(bad)] }
  })
  sandbox.fault(...answers, { kind: 'status', status: 500, times: 100 })
  const { code, stderr } = await sandbox.fetch(['-n', '60'])
  expect([code, sandbox.requests.length]).toEqual([8, 3])
  expect(stderr).toMatch(
    /^softsim: error: stored 3 of 60 profiles in .+, 150 received that can't be used \(3 .*: most of what the service sends can't be used$/m,
  )
  expect(stderr).toMatch(/^softsim: hint: tell the operator .* -n 57$/m)
  const kept = unreadIn(sandbox.directory).map((each) => JSON.parse(String(each)).profiles.length)
  expect(kept.sort()).toEqual([31, 61, 61])
})

test.concurrent('a 404 that is a web page: the address is wrong, and not the account empty', async () => {
  const { fetch, fault } = await startSandbox()
  fault({ kind: 'garbage', status: 404, body: '<title>Not Found</title>', contentType: 'text/html' })
  expect(await fetch()).toEqual(
    failure(7, /there is no profile service at this address \(404\): Not Found/, /--url is wrong, .*/),
  )
  expect(await fetch([], { env: { SOFTSIM_API_KEY: 'no' } })).toMatchObject({ code: 6 })
})

test.concurrent.each([429, 503])(
  '%i with a pause of an hour: it says so at once, and ends',
  async (status) => {
    const { fetch, fault, requests } = await startSandbox()
    fault({ kind: 'status', status, headers: { 'retry-after': '3600' }, times: 100 })
    expect(await fetch()).toEqual(
      failure(
        7,
        RegExp(`the service asks for a pause of 60 min \\(${status}\\)`),
        /run fetch again in 60 min/,
      ),
    )
    expect(requests).toHaveLength(1)
  },
)

test.concurrent('a fetch that stores nothing leaves no directory behind', async () => {
  const { fetch, directory } = await startSandbox()
  expect(await fetch([], { env: { SOFTSIM_API_KEY: 'wrong-key' } })).toMatchObject({ code: 6 })
  expect(existsSync(directory)).toBe(false)
})

test.concurrent('control characters in messages of the service do not reach the terminal', async () => {
  const { fetch, fault } = await startSandbox()
  fault({ kind: 'status', status: 400, body: 'no\u001b[2J\nsoftsim: stored 5 profiles' })
  expect(await fetch()).toEqual(failure(7, /the service answered 400: no\\u\{1b\}\[2J\\u\{a\}softsim: .*/))
})
