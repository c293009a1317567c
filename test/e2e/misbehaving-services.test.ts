/** What services do wrong, and what a `fetch` then costs, stores and says. */
import { expect, test } from 'vitest'
import { namesIn, unreadIn } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { type Sandbox, startSandbox } from '../support/sandbox.ts'
import type { Fault } from '../support/service.ts'

const ORDER = 40
const ALWAYS = { times: Number.POSITIVE_INFINITY }

interface Misbehaviour {
  readonly faults: readonly Fault[]
  readonly order?: number
  readonly code: number
  /** All that was ordered, unless it says how many. */
  readonly stored?: number
  /** How many profiles are allocated and not stored. */
  readonly lost?: number
  /** How many answers are kept for a person to look at. */
  readonly unread?: number
  /** What the last error says. */
  readonly error?: RegExp
}

const page = '<html><title>Log in</title></html>'
const again = { 'retry-after': '0' }
const good = { iccid: iccid(1), profile: 'AAAA' }

const SERVICES: Record<string, Misbehaviour> = {
  'fails for ever, and allocates each time': {
    faults: [{ kind: 'lost', status: 500, ...ALWAYS }],
    code: 7,
    stored: 0,
    lost: ORDER + 5,
    error: /the service answered 500/,
  },
  'fails once, after it has allocated': { faults: [{ kind: 'lost', status: 500 }], code: 0, lost: ORDER },
  'is behind a gateway that loses three answers': {
    faults: [502, 504, 520].map((status): Fault => ({ kind: 'lost', status })),
    code: 0,
    lost: ORDER + 2,
  },
  'fails at every second request': {
    faults: Array.from(
      { length: 8 },
      (_, n): Fault => (n % 2 ? { kind: 'none' } : { kind: 'lost', status: 500 }),
    ),
    order: 5,
    code: 0,
    lost: 5 + 2 + 2 + 2,
  },
  'fails before it allocates': { faults: [{ kind: 'status', status: 500 }], code: 0 },
  'is busy, and says when to come again': {
    faults: [{ kind: 'status', status: 503, headers: again, times: 2 }],
    code: 0,
  },
  'limits the rate': { faults: [{ kind: 'status', status: 429, headers: again, times: 2 }], code: 0 },
  'hangs up before it allocates': { faults: [{ kind: 'drop-before' }], code: 0 },
  'hangs up after it has allocated': { faults: [{ kind: 'drop-after' }], code: 0, lost: ORDER },
  'resets the connection': { faults: [{ kind: 'reset' }], code: 0 },
  'breaks off amid an answer': { faults: [{ kind: 'torn' }], code: 0, lost: ORDER },
  'breaks off each answer of more than 10 kB': {
    faults: [{ kind: 'torn-after', bytes: 10_000, ...ALWAYS }],
    code: 0,
    lost: ORDER + 16,
  },
  'closes each connection after its answer, without saying so': {
    faults: [{ kind: 'close-after', ...ALWAYS }],
    order: 250,
    code: 0,
  },
  'says 100 (Continue) before each answer, unasked': {
    faults: [{ kind: 'interim', count: 1, ...ALWAYS }],
    order: 250,
    code: 0,
  },
  'sends an answer in small parts': { faults: [{ kind: 'drip', ms: 1, bytes: 1000 }], code: 0 },
  'sends fewer than asked': { faults: [20, 10, 5].map((by): Fault => ({ kind: 'short', by })), code: 0 },
  'sends the same answer again': {
    faults: [{ kind: 'short', by: 20 }, { kind: 'repeat' }],
    code: 8,
    stored: 20,
    error: /the service has no more profiles/,
  },
  'sends what can’t be used among the rest': {
    faults: [{ kind: 'bad-entries', entries: [{ iccid: 'none' }] }],
    code: 0,
    unread: 1,
  },
  'sends what was not allocated': { faults: [{ kind: 'replace', profiles: [good] }], order: 1, code: 0 },
  'compresses unasked': {
    faults: [{ kind: 'gzip' }],
    code: 7,
    stored: 0,
    lost: ORDER,
    unread: 1,
    error: /the answer is compressed/,
  },
  'begins with a byte order mark': { faults: [{ kind: 'dressed', before: '\ufeff' }], code: 0 },
  'sends a login page': {
    faults: [{ kind: 'garbage', body: page, contentType: 'text/html' }],
    code: 7,
    stored: 0,
    error: /the answer is a web page/,
  },
  'sends an empty list': {
    faults: [{ kind: 'garbage', body: '[]' }],
    code: 7,
    stored: 0,
    unread: 1,
    error: /the answer is not JSON with a list named "profiles"/,
  },
  'sends half a list': {
    faults: [{ kind: 'garbage', body: '{"count":1,"profiles":[{"iccid":"8988' }],
    code: 7,
    stored: 0,
    unread: 1,
    error: /the answer is not JSON with a list named "profiles"/,
  },
  'never ends': { faults: [{ kind: 'huge' }], code: 7, stored: 0, error: /the answer is too large/ },
  'has no page there': {
    faults: [{ kind: 'garbage', body: page, contentType: 'text/html', status: 404 }],
    code: 7,
    stored: 0,
    error: /there is no profile service at this address/,
  },
  'has no more profiles': {
    faults: [
      { kind: 'short', by: 20 },
      { kind: 'status', status: 404 },
    ],
    code: 8,
    stored: 20,
    error: /stored 20 of 40 .*: the service has no more profiles \(404\)/,
  },
  'does not understand': {
    faults: [{ kind: 'status', status: 400 }],
    code: 7,
    stored: 0,
    error: /the service answered 400/,
  },
  'is a proxy that wants a login': {
    faults: [{ kind: 'status', status: 407 }],
    code: 7,
    stored: 0,
    error: /a proxy requires a valid user name and password \(407\)/,
  },
  'redirects to another host': {
    faults: [{ kind: 'redirect', location: 'https://other.test/' }],
    code: 7,
    stored: 0,
    error: /the service redirects to an address/,
  },
}

test.concurrent.each(Object.entries(SERVICES))('a service that %s', async (_, row) => {
  const { faults, order = ORDER, code, stored = order, lost = 0, unread = 0, error = /^$/ } = row
  const sandbox = await startSandbox()
  sandbox.fault(...faults)
  const run = await sandbox.fetch(['-n', String(order)])
  expect([run.code, namesIn(sandbox.directory).length], run.stderr).toEqual([code, stored])
  expect(/^softsim: error: (.*)$/m.exec(run.stderr)?.[1] ?? '').toMatch(error)
  expect(lostBy(sandbox), run.stderr).toBe(lost)
  // Nothing is lost silently.
  const said = Number(/up to (\d+) profiles? may have been allocated/.exec(run.stderr)?.[1] ?? 0)
  expect(said).toBeGreaterThanOrEqual(lost)
  expect(unreadIn(sandbox.directory)).toHaveLength(unread)
})

function lostBy({ allocated, directory }: Sandbox): number {
  const names = new Set(namesIn(directory))
  return [...allocated.keys()].filter((each) => !names.has(`${each}.json`)).length
}

test.concurrent('after the first failure, at most one profile more than the order is allocated', async () => {
  const sandbox = await startSandbox()
  sandbox.fault({ kind: 'lost', status: 502, times: 4 })
  expect(await sandbox.fetch(['-n', String(ORDER)])).toMatchObject({ code: 0 })
  expect(sandbox.asked().slice(0, 7)).toEqual([ORDER, 1, 1, 1, 1, 2, 4])
})
