/** What services and networks send, and what a `fetch` makes of it, with a real service and a real directory. */
import '../support/after-file.ts'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Failure } from '../../src/failure.ts'
import { temporaryDirectory, unusedIn } from '../support/directory.ts'
import { hasSmallDisks, smallDisk } from '../support/disk.ts'
import { fetchHere } from '../support/here.ts'
import { iccid } from '../support/profiles.ts'
import { API_KEY, type Sandbox, startSandbox } from '../support/sandbox.ts'
import type { Fault, ServiceOptions } from '../support/service.ts'
import { until } from '../support/softsim.ts'

const GOOD = { iccid: iccid(1), profile: 'AAEC/w==' }

interface Setting extends Partial<ServiceOptions> {
  readonly faults?: readonly Fault[]
}

/** A service that shows these faults, and what fetches from it. */
async function serviceThat({ faults = [], ...options }: Setting = {}) {
  const sandbox = await startSandbox(options)
  sandbox.fault(...faults)
  const { url, directory } = sandbox
  const run = (order: Partial<Parameters<typeof fetchHere>[0]> = {}) =>
    fetchHere({ url, apiKey: API_KEY, directory, ...order })
  return { ...sandbox, run }
}

const errorIn = (stderr: string) => /^softsim: error: (.*)$/m.exec(stderr)?.[1]
const hintIn = (stderr: string) => /^softsim: hint: (.*)$/m.exec(stderr)?.[1]

describe('a cache between us and the service gives two devices one identity', () => {
  test('an answer that says that it is from a cache is no stock', async () => {
    const { run, directory } = await serviceThat({
      faults: [{ kind: 'none' }, { kind: 'repeat', headers: { age: '35' } }],
    })
    expect((await run({ count: 3 })).code).toBe(0)
    const other = temporaryDirectory()
    const { code, stderr } = await run({ count: 3, directory: other })
    expect([code, unusedIn(directory).length, unusedIn(other)]).toEqual([7, 3, []])
    expect(errorIn(stderr)).toBe(
      'the answer is from a cache (age: 35): other devices may have its profiles, and none of them is stored',
    )
    expect(hintIn(stderr)).toMatch(/^ask the operator of the proxy or gateway in between/)
  })

  test('nor is what comes before one breaks off', async () => {
    const { run, directory } = await serviceThat({ faults: [{ kind: 'torn', headers: { age: '35' } }] })
    const { code, stderr } = await run({ count: 9 })
    expect([code, unusedIn(directory)]).toEqual([7, []])
    expect(errorIn(stderr)).toMatch(/^the answer is from a cache \(age: 35\)/)
  })

  test.each([
    ['of this call, after another', [{ kind: 'none' }, { kind: 'repeat' }]],
    ['of this call, at once', [{ kind: 'none' }, { kind: 'none' }, { kind: 'repeat', times: 9 }]],
  ] as [string, Fault[]][])('nor is one that only repeats an answer %s', async (_, faults) => {
    const { run, directory } = await serviceThat({ faults })
    const { code, stderr } = await run({ count: 5000 })
    expect(code).toBe(7)
    expect(stderr).toMatch(RegExp(`stored ${unusedIn(directory).length} of 5000 profiles`))
    expect(errorIn(stderr)).toMatch(/^the answer repeats \d+, which .* already has: other devices may have/)
  })
})

test('an answer that repeats a profile is no stock, also if the others have moved on', async () => {
  const { run, directory } = await serviceThat({ faults: [{ kind: 'none' }, { kind: 'repeat' }] })
  expect((await run({ count: 3 })).code).toBe(0)
  const gone = unusedIn(directory).slice(1)
  for (const name of gone) rmSync(join(directory, name))
  const { code, stderr } = await run({ count: 3 })
  expect([code, unusedIn(directory).length]).toEqual([7, 1])
  expect(readdirSync(join(directory, '.incoming'))).toEqual([])
  expect(errorIn(stderr)).toMatch(/^the answer repeats \d+, which/)
  expect(stderr).toContain(`received and not stored: ${gone.map((name) => name.slice(0, -5)).join(' ')}; ask`)
})

test('an answer that repeats a profile and breaks off is found at once', async () => {
  const list = JSON.stringify({ profiles: [GOOD, { ...GOOD, iccid: iccid(2) }] })
  const { run, asked } = await serviceThat({
    faults: [
      { kind: 'replace', profiles: [GOOD] },
      { kind: 'garbage', body: list.slice(0, -1) },
    ],
  })
  expect((await run()).code).toBe(0)
  const { code, stderr } = await run({ count: 3 })
  expect([code, asked()]).toEqual([7, [1, 3]])
  expect(errorIn(stderr)).toMatch(/^the answer repeats \d+, which .* already has/)
  expect(stderr).toContain(`received and not stored: ${iccid(2)}; ask`)
})

test('a filler makes no other profile, and a repetition is said though others bring enough', async () => {
  const digits = iccid(1).slice(0, 19)
  const own = await serviceThat({
    faults: ['', 'F'].map((filler) => ({ kind: 'replace', profiles: [{ ...GOOD, iccid: digits + filler }] })),
  })
  expect((await own.run()).code).toBe(0)
  expect((await own.run()).code).toBe(7)
  const many = Array.from({ length: 5000 }, (_, n) => ({ ...GOOD, iccid: iccid(9000 + n) }))
  const { run, directory } = await serviceThat({
    faults: [{ kind: 'none' }, { kind: 'replace', profiles: many }, { kind: 'repeat', times: 9 }],
  })
  const { code, stderr } = await run({ count: 3000 })
  expect(unusedIn(directory).length).toBeGreaterThan(3000)
  expect([code, errorIn(stderr)]).toEqual([7, expect.stringMatching(/^the answer repeats/)])
})

test('an answer without an entry: there are no more', async () => {
  const { run, asked } = await serviceThat({
    faults: [{ kind: 'none' }, { kind: 'replace', profiles: [] }],
  })
  const { code, stderr } = await run({ count: 150 })
  expect([code, asked()]).toEqual([8, [100, 50]])
  expect(errorIn(stderr)).toMatch(/^stored 100 of 150 profiles in .*: the service has no more profiles$/)
})

describe('numbers and dates in headers', () => {
  const refusing = (status: number, header: string): Fault => ({
    ...{ kind: 'status', status, headers: { 'retry-after': header } },
  })

  test('a fraction of a second is waited for, and each pause is said once', async () => {
    const { run } = await serviceThat({ faults: [refusing(429, '0.2'), refusing(503, '0')] })
    const { code, stderr } = await run({ verbosity: 1 })
    expect([code, stderr.match(/^.*it goes on in .*$/gm)]).toEqual([
      0,
      [
        'softsim: the rate limit is reached (429): status 429; it goes on in 1 s',
        'softsim: the service answered 503: status 503; it goes on in 1 s',
      ],
    ])
  })

  test.each([
    ['120.5', 'the service asks for a pause of 3 min'],
    ['3600', 'the service asks for a pause of 60 min'],
    ['999999999999', 'the service asks for a pause of 277777778 h'],
  ])('nobody sits and waits for %s seconds', async (header, error) => {
    const { run, asked } = await serviceThat({ faults: [refusing(429, header)] })
    const { code, stderr } = await run()
    expect([code, asked(), errorIn(stderr)]).toEqual([7, [1], error])
    expect(hintIn(stderr)).toBe('try again then; if no limit can last so long, ask the service provider')
  })

  test.each([
    ['9', '9 s', false],
    ['11', '11 s', true],
    // The longest one that is waited for.
    ['120', '2 min', true],
  ])(
    'a pause of %s seconds is shown as %s, said without -v: %s, and Ctrl-C ends it',
    async (header, time, isSaid) => {
      const { run, asked } = await serviceThat({ faults: [refusing(429, header)] })
      const stop = new AbortController()
      let shown = () => ''
      const follow = (line: () => string) => {
        shown = line
      }
      const running = run({ count: 7, follow, stop: stop.signal })
      await until(() => shown().includes('it goes on in'))
      const pause = 'the rate limit is reached (429): status 429; it goes on in'
      expect(shown()).toContain(`0 % (0 of 7), ${pause} `)
      stop.abort()
      const { code, stderr } = await running
      expect([code, asked(), stderr.includes(`softsim: ${pause} ${time}\n`)]).toEqual([130, [7], isSaid])
      expect(errorIn(stderr)).toMatch(/^interrupted: stored 0 of 7 profiles in .* \(1 request, \d+\.\d s\)$/)
    },
  )

  test('nor for a window that ends in an hour: what was received is stored', async () => {
    const headers = {
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(Math.ceil(Date.now() / 1000) + 3570),
    }
    const { run, directory } = await serviceThat({ faults: [{ kind: 'dressed', headers }] })
    const { code, stderr } = await run({ count: 150 })
    expect([code, unusedIn(directory).length]).toEqual([8, 100])
    expect(errorIn(stderr)).toMatch(/: the service asks for a pause of 60 min$/)
    expect(hintIn(stderr)).toMatch(/^try again then; .*; the same command with -n 50 gets the rest$/)
  })
})

describe('what is paid for is stored', () => {
  const many = (count: number) => Array.from({ length: count }, (_, n) => ({ ...GOOD, iccid: iccid(n) }))

  test('more than ordered', async () => {
    const { run, directory } = await serviceThat({ faults: [{ kind: 'replace', profiles: many(900) }] })
    let shown = () => ''
    const follow = (line: () => string) => {
      shown = line
    }
    const { code, stderr } = await run({ count: 5, follow })
    expect([code, unusedIn(directory).length, shown()]).toEqual([0, 900, '100 % (900 of 5)'])
    expect(stderr).toContain(`stored 900 profiles in ${directory}, 895 more than ordered (1 request, `)
  })

  test('more than ordered, in an answer that breaks off: nobody knows how many are lost', async () => {
    const { run, directory } = await serviceThat({ faults: [brokenList(many(900), '')] })
    const { code, stderr } = await run({ count: 5 })
    expect([code, unusedIn(directory).length]).toEqual([0, 900])
    expect(stderr).toMatch(/more profiles may have been allocated and not received, in requests that failed/)
    expect(stderr).not.toContain('try 2')
  })

  test('a profile that an answer brings twice is one profile', async () => {
    const twice: Fault = { kind: 'replace', profiles: [...many(3), ...many(3)] }
    const { run, directory, asked } = await serviceThat({ faults: [twice] })
    const { code, stderr } = await run({ count: 6 })
    expect([code, unusedIn(directory).length, asked()]).toEqual([0, 6, [6, 3]])
    expect(stderr).toContain(`stored 6 profiles in ${directory} (2 requests, `)
  })

  test('a broken answer that brings all that was ordered costs nothing', async () => {
    const { run, directory } = await serviceThat({ faults: [brokenList(nested, ',]}')] })
    const { code, stderr } = await run({ count: 9 })
    expect([code, unusedIn(directory).length, stderr.includes('may have been allocated')]).toEqual([
      0,
      9,
      false,
    ])
  })

  const nested = many(9).map((each) => ({ ...each, meta: { tags: [{ a: '}' }] } }))

  test.each<[string, Fault, stored: number]>([
    ['with objects in its entries, and a comma too many', brokenList(nested, ',]}'), 9],
    ['with objects in its entries, that ends early', brokenList(nested, ''), 9],
    ['with a list of another name', { kind: 'garbage', body: JSON.stringify({ sims: nested }) }, 9],
  ])('the complete profiles of an answer %s', async (_, fault, stored) => {
    const { run, directory } = await serviceThat({ faults: [fault] })
    const { code, stderr } = await run({ count: 12 })
    expect([code, unusedIn(directory).length]).toEqual([8, stored])
    expect(stderr).toMatch(/warning: up to 3 profiles may have been allocated and not received/)
    expect(errorIn(stderr)).toMatch(/: the answer is not JSON with a list named "profiles": \{/)
  })

  function brokenList(profiles: readonly object[], end: string): Fault {
    return { kind: 'garbage', body: `${JSON.stringify({ count: 9, profiles }).slice(0, -2)}${end}` }
  }

  test('the beginning of an answer that breaks off, and it is not ordered again', async () => {
    const { run, directory } = await serviceThat({ faults: [{ kind: 'torn' }] })
    const { code } = await run({ count: 9 })
    expect([code, unusedIn(directory).length]).toEqual([0, 9])
  })

  test('good entries beside bad ones, which are named', async () => {
    const entries = [null, { iccid: iccid(77), profile: '***' }]
    const { run, directory } = await serviceThat({ faults: [{ kind: 'bad-entries', entries }] })
    const { code, stderr } = await run({ count: 3 })
    expect([code, unusedIn(directory).length]).toEqual([0, 3])
    expect(stderr).toMatch(
      RegExp(`^softsim: warning: entry 5 \\(ICCID ${iccid(77)}\\): .*; not stored$`, 'm'),
    )
  })

  test('as many good entries as bad ones: what is missing is ordered', async () => {
    const { run, directory, asked } = await serviceThat({
      faults: [{ kind: 'replace', profiles: [GOOD, null] }],
    })
    const { code } = await run({ count: 2 })
    expect([code, unusedIn(directory).length, asked()]).toEqual([0, 2, [2, 1]])
  })

  test('an answer that nobody can read is shown, without the key', async () => {
    const body = `no list\u001b[2J ${API_KEY} ${'x'.repeat(500)}`
    const { run, directory } = await serviceThat({ faults: [{ kind: 'garbage', body }] })
    const { code, stderr } = await run()
    expect([code, unusedIn(directory)]).toEqual([7, []])
    expect(errorIn(stderr)).toMatch(/"profiles": no list\\u\{1b\}\[2J \*\*\* x{150,190}$/)
  })
})

describe.skipIf(!hasSmallDisks)('a disk that fills up between the request and the answer', () => {
  /** Fills the disk while the service is about to answer; `then` comes when the call says that it waits for room. */
  async function filledDuring(
    then: (full: { clear(): void; stop(): void; asked(): number }) => void,
    { count = 20, request = 1 } = {},
  ) {
    const disk = await smallDisk(8)
    const stop = new AbortController()
    const { promise: answer, resolve } = Promise.withResolvers<void>()
    const sandbox: Sandbox = await startSandbox()
    if (request > 1) sandbox.fault({ kind: 'none', times: request - 1 })
    sandbox.fault({ kind: 'hold', until: answer })
    const directory = join(disk.path, 'profiles')
    const running = fetchHere({
      ...{ url: sandbox.url, apiKey: API_KEY, directory, count, stop: stop.signal },
      onLine(line) {
        if (line.includes('only in memory'))
          then({ clear: disk.clear, stop: () => stop.abort(), asked: () => sandbox.requests.length })
      },
    })
    await until(() => sandbox.requests.length === request)
    disk.fill()
    resolve()
    const ended = await running
    const stored = unusedIn(directory).map((name) => name.replace('.json', ''))
    await disk.close()
    return { ...ended, stored, delivered: [...sandbox.delivered.keys()] }
  }

  test('the answer stays in memory until there is room', async () => {
    const { code, stderr, stored, delivered } = await filledDuring(({ clear }) => clear())
    expect([code, stored]).toEqual([0, delivered.sort()])
    expect(stderr).toMatch(
      /no space left on the disk \(ENOSPC\): 20 profiles paid for, and only in memory until there is room; make room on the disk/,
    )
  })

  test('nothing more is ordered until there is room', async () => {
    let before = 0
    const wait = ({ clear, asked }: { clear(): void; asked(): number }) =>
      // It has tried twice by then.
      void setTimeout(() => {
        before ||= asked()
        clear()
      }, 3500)
    const { code, stored } = await filledDuring(wait, { count: 1300, request: 2 })
    expect([code, stored.length, before]).toEqual([0, 1300, 2])
  })

  test('what is put aside when another failure ends the call is not ordered again', async () => {
    const disk = await smallDisk(16)
    const { promise: answer, resolve } = Promise.withResolvers<void>()
    const sandbox = await startSandbox()
    const refusal: Fault = { kind: 'status', status: 401 }
    sandbox.fault({ kind: 'none', times: 2 }, { kind: 'hold', until: answer }, refusal)
    const directory = join(disk.path, 'profiles')
    const running = fetchHere({ url: sandbox.url, apiKey: API_KEY, directory, count: 3100 })
    await until(() => sandbox.statuses().includes(401))
    await until(() => unusedIn(directory).length === 1100)
    // There is room for the answer, and not for its files.
    disk.fill(300)
    resolve()
    const { code, stderr } = await running
    await disk.close()
    expect([code, sandbox.asked()]).toEqual([8, [100, 1000, 1000, 1000]])
    expect(stderr).toMatch(/stored 1100 of 3100 profiles in .*, 1000 more put aside there /)
    expect(hintIn(stderr)).toMatch(/; the same command with -n 1000 gets the rest$/)
  })

  test.each([false, true])(
    'what is only put aside is said, and is not lost (Ctrl-C: %s)',
    async (isStopped) => {
      const disk = await smallDisk(8)
      const stop = new AbortController()
      const { promise: answer, resolve } = Promise.withResolvers<void>()
      const sandbox = await startSandbox()
      sandbox.fault({ kind: 'hold', until: answer })
      const directory = join(disk.path, 'profiles')
      const { url } = sandbox
      const running = fetchHere({ url, apiKey: API_KEY, directory, count: 100, stop: stop.signal })
      await until(() => sandbox.requests.length === 1)
      disk.fill(70)
      if (isStopped) stop.abort()
      resolve()
      const { code, stderr } = await running
      await disk.close()
      expect(code).toBe(9)
      expect(stderr).toMatch(/stored 0 of 100 profiles in .*, 100 more put aside there /)
      expect(stderr).not.toContain('received and not stored')
    },
  )

  test('Ctrl-C names what is lost', async () => {
    const { code, stderr, stored, delivered } = await filledDuring(({ stop }) => stop())
    expect([code, stored]).toEqual([130, []])
    expect(stderr).toContain(`received and not stored: ${delivered.join(' ')}; ask the service provider`)
  })
})

describe('--stock orders what is missing', () => {
  test('and nothing if there is as much, also in what a killed call has received', async () => {
    const { run, directory, asked } = await serviceThat()
    expect((await run({ stock: 4 })).code).toBe(0)
    const again = await run({ stock: 4 })
    expect([again.code, again.stderr]).toEqual([
      ...[0, `softsim: ${directory} has 4 unused profiles: nothing to order\n`],
    ])
    putAsideIn(directory, 3)
    expect((await run({ stock: 7 })).stderr).toMatch(/has 7 unused profiles: nothing to order\n$/)
    expect((await run({ stock: 9 })).stderr).toMatch(/has 7 unused profiles: ordering 2\n/)
    expect([unusedIn(directory).length, asked()]).toEqual([9, [4, 2]])
  })

  test('and if some are missing then, the same command is named, which orders no more than these', async () => {
    const { run, directory } = await serviceThat({ supply: 2 })
    const { code, stderr } = await run({ stock: 5 })
    expect(code).toBe(8)
    expect(hintIn(stderr)).toMatch(/^ask the service provider for more; .*; then run the same command again$/)
    expect(stderr).toContain(`${directory} has 0 unused profiles: ordering 5\n`)
    expect(stderr).toContain(`${directory} is new, and has 2 unused profiles now\n`)
  })

  test('and says nothing of an order where it has no place for it', async () => {
    const { run, directory } = await serviceThat()
    const { stderr } = await run({ stock: 4, directory: join(directory, 'away', 'profiles') })
    expect(stderr).toMatch(/^softsim: error: directory .*away does not exist\n/)
  })

  /** Leaves an answer of so many profiles as a call does that is killed when it has put it aside. */
  function putAsideIn(directory: string, count: number): void {
    const place = join(directory, '.incoming', '0123456789abcdef0123')
    mkdirSync(place, { recursive: true })
    const lines = Array.from({ length: count }, (_, n) => `${JSON.stringify({ ...GOOD, iccid: iccid(n) })}\n`)
    writeFileSync(join(place, 'answer'), lines.join(''))
  }
})

test('an order of 2345: first 100, then 1000, each profile in its own file', async () => {
  const { run, directory, asked, delivered } = await serviceThat()
  expect((await run({ count: 2345 })).code).toBe(0)
  expect(asked().slice(0, 2)).toEqual([100, 1000])
  expect(unusedIn(directory)).toEqual([...delivered.keys()].map((each) => `${each}.json`).sort())
})

test.each([
  [0, 3, /^the service has no more profiles \(404\)/],
  [1, 8, /^stored 1 of 5 profiles in .*: the service has no more profiles \(404\)/],
  [2, 8, /^stored 2 of 5 profiles in .*: the service has no more profiles \(404\)/],
])('a service that has %i profiles left', async (supply, code, error) => {
  const { run } = await serviceThat({ supply })
  const ended = await run({ count: 5 })
  expect([ended.code, errorIn(ended.stderr)]).toEqual([code, expect.stringMatching(error)])
})

test('one profile that may be lost, and how far a long order is', async () => {
  const { promise: answer, resolve } = Promise.withResolvers<void>()
  const { run } = await serviceThat({
    faults: [{ kind: 'none' }, { kind: 'hold', until: answer }],
  })
  let shown = () => ''
  const follow = (line: () => string) => {
    shown = line
  }
  const running = run({ count: 150, follow })
  // Not rounded up: 100 % would be all of them.
  await until(() => /^66 % \(100 of 150\), \d+ (s|min) left$/.test(shown()))
  resolve()
  expect((await running).code).toBe(0)
  expect(shown()).toBe('100 % (150 of 150)')
  const lost = await serviceThat({ faults: [{ kind: 'lost', status: 500 }] })
  const { code, stderr } = await lost.run()
  expect([code, stderr.split('\n')[0]]).toEqual([
    0,
    'softsim: warning: up to 1 profile may have been allocated and not received, in requests that failed after they were sent: ask the service provider for them',
  ])
})

test('a wrong key costs one request', async () => {
  const { run, requests } = await serviceThat()
  const { code, stderr } = await run({ count: 5000, apiKey: 'softsim-key-wrong' })
  expect([code, requests.length, errorIn(stderr)]).toEqual([
    ...[6, 1, 'the service does not accept the API key (401): the API key is not known'],
  ])
  expect(stderr).not.toContain('unused')
})

test('Ctrl-C: no more requests, and what is under way is stored', async () => {
  const stop = new AbortController()
  const { promise: answer, resolve } = Promise.withResolvers<void>()
  const { run, requests, directory } = await serviceThat({ faults: [{ kind: 'hold', until: answer }] })
  const running = run({ count: 500, stop: stop.signal })
  await until(() => requests.length === 1)
  stop.abort()
  resolve()
  const { code, stderr } = await running
  expect([code, requests.length, unusedIn(directory).length]).toEqual([130, 1, 100])
  expect([errorIn(stderr), hintIn(stderr)]).toEqual([
    ...[
      expect.stringMatching(/^interrupted: stored 100 of 500 profiles/),
      'the same command with -n 400 gets the rest',
    ],
  ])
})

test('Ctrl-C: requests that wait for others are no failure', async () => {
  const stop = new AbortController()
  const { promise: answer, resolve } = Promise.withResolvers<void>()
  const { run, requests, directory } = await serviceThat({
    faults: [
      { kind: 'none', times: 2 },
      { kind: 'hold', until: answer, times: 4 },
    ],
  })
  const running = run({ count: 9000, stop: stop.signal })
  // Four at once, and two that wait.
  await until(() => requests.length === 6)
  stop.abort(new Failure('interrupted', 'interrupted', 'as the program says it'))
  resolve()
  const { code, stderr } = await running
  expect([code, requests.length, unusedIn(directory).length]).toEqual([130, 6, 5100])
  expect(errorIn(stderr)).toMatch(/^interrupted: stored 5100 of 9000 profiles/)
})

test('Ctrl-C after a failure: the failure is said', async () => {
  const stop = new AbortController()
  const { promise: answer, resolve } = Promise.withResolvers<void>()
  const { run } = await serviceThat({
    faults: [
      { kind: 'none', times: 2 },
      { kind: 'status', status: 401 },
      { kind: 'hold', until: answer, times: 9 },
    ],
  })
  let isRefused = false
  const onLine = (line: string) => {
    if (line.includes('answered 401')) {
      isRefused = true
      resolve()
    } else if (isRefused && line.includes('profiles stored')) stop.abort()
  }
  const { code, stderr } = await run({ count: 5000, verbosity: 2, stop: stop.signal, onLine })
  expect([code, stop.signal.aborted]).toEqual([8, true])
  expect(errorIn(stderr)).toMatch(/: the service does not accept the API key/)
})

test.each([
  [{ kind: 'repeat', times: 9 }, 7, /^the answer repeats \d+, which/],
  // It fails while the end of the others is under way.
  [{ kind: 'status', status: 401, times: 9 }, 8, /: the service does not accept the API key/],
] as [Fault, number, RegExp][])(
  'that there are no more says less than another failure beside it',
  async (fault, exitCode, said) => {
    const { run } = await serviceThat({
      faults: [{ kind: 'none', times: 2 }, { kind: 'status', status: 404 }, fault],
    })
    const { code, stderr } = await run({ count: 5000 })
    expect([code, errorIn(stderr)]).toEqual([exitCode, expect.stringMatching(said)])
  },
)

test('a request that has cost nothing leaves no note, which would be taken for one of a killed call', async () => {
  const { run, directory } = await serviceThat({ faults: [{ kind: 'status', status: 401 }] })
  expect((await run()).code).toBe(6)
  expect(readdirSync(join(directory, '.incoming'))).toEqual([])
})
