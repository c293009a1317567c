/** What services do wrong, and what a `fetch` then costs and stores; what it says is in transcripts/fetch-faults.txt. */
import { expect, test } from 'vitest'
import { namesIn } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { type Sandbox, startSandbox } from '../support/sandbox.ts'
import type { Fault } from '../support/service.ts'

const ORDER = 40
/** A service that a busy machine holds up may close a connection before it reads the next request: that is another fault. */
const PATIENT = { keepAliveMs: 120_000 }
const ALWAYS = { times: Number.POSITIVE_INFINITY }

interface Misbehaviour {
  readonly faults: readonly Fault[]
  readonly order?: number
  readonly code: number
  /** All that was ordered, unless it says how many. */
  readonly stored?: number
  /** How many profiles are allocated and not stored. */
  readonly lost?: number
  /** What the last error says. */
  readonly error?: RegExp
}

const again = { 'retry-after': '0' }
const BAD = Array.from({ length: 5 }, () => ({ iccid: 'none', profile: 'AAAA' }))
const good = { iccid: iccid(1), profile: 'AAAA' }
const lost = (...statuses: number[]) => statuses.map((status): Fault => ({ kind: 'lost', status }))
const short = (...by: number[]) => by.map((each): Fault => ({ kind: 'short', by: each }))

/** All that was ordered is stored. */
const works = (faults: readonly Fault[], more: Partial<Misbehaviour> = {}) => ({ faults, code: 0, ...more })

/** Nothing is stored. */
const fails = (fault: Fault, error: RegExp, more: Partial<Misbehaviour> = {}) => ({
  ...{ faults: [fault], code: 7, stored: 0, error, ...more },
})

const SERVICES: Record<string, Misbehaviour> = {
  'fails for ever, and allocates each time': fails(
    { kind: 'lost', status: 500, ...ALWAYS },
    /the service answered 500/,
    { lost: ORDER + 6 },
  ),
  'is behind a gateway that loses five answers': works(lost(502, 504, 520, 522, 524), { lost: ORDER + 4 }),
  'hangs up before it allocates': works([{ kind: 'drop-before' }]),
  'hangs up after it has allocated': works([{ kind: 'drop-after' }], { lost: ORDER }),
  'resets the connection': works([{ kind: 'reset' }]),
  'breaks off each answer of more than 10 kB': works([{ kind: 'torn-after', bytes: 10_000, ...ALWAYS }], {
    // Thirteen profiles are whole.
    lost: ORDER - 13,
  }),
  'closes each connection, without saying so': works([{ kind: 'close-after', ...ALWAYS }], {
    order: 120,
  }),
  'sends an answer in small parts': works([{ kind: 'drip', ms: 1, bytes: 1000 }]),
  'sends fewer than asked': works(short(20, 10, 5)),
  'sends little that can be used': {
    faults: [{ kind: 'replace', profiles: [good, ...BAD] }],
    ...{ order: 60, code: 8, stored: 1 },
    error: /stored 1 of 60 profiles in .*: most of what the service sends can't be used$/,
  },
}

test.concurrent.each(Object.entries(SERVICES))('a service that %s', async (_, row) => {
  const { faults, order = ORDER, code, stored = order, error = /^$/ } = row
  const sandbox = await startSandbox(PATIENT)
  sandbox.fault(...faults)
  const run = await sandbox.fetch(['-n', String(order)])
  expect([run.code, namesIn(sandbox.directory).length], run.stderr).toEqual([code, stored])
  expect(/^softsim: error: (.*)$/m.exec(run.stderr)?.[1] ?? '').toMatch(error)
  const expected = row.lost ?? 0
  expect(lostBy(sandbox), run.stderr).toBe(expected)
  // Nothing is lost silently.
  const said = Number(/up to (\d+) profiles? may have been allocated/.exec(run.stderr)?.[1] ?? 0)
  expect(said).toBeGreaterThanOrEqual(expected)
})

/** All that was ordered is there, and all that was delivered. */
function expectAllStored({ delivered, directory }: Sandbox, order: number): void {
  const names = namesIn(directory)
  expect(names).toHaveLength(order)
  expect(names).toEqual(expect.arrayContaining([...delivered.keys()].map((each) => `${each}.json`)))
}

function lostBy({ allocated, directory }: Sandbox): number {
  const names = new Set(namesIn(directory))
  return [...allocated.keys()].filter((each) => !names.has(`${each}.json`)).length
}

test.concurrent('all faults during parallel requests', async () => {
  const sandbox = await startSandbox(PATIENT)
  sandbox.fault(
    ...[...short(20), { kind: 'torn' } as const, { kind: 'status', status: 429, headers: again } as const],
    ...[{ kind: 'reset' } as const, { kind: 'drop-after' } as const],
    { kind: 'status', status: 503, headers: again },
  )
  const { code, stderr } = await sandbox.fetch(['-n', '3000'])
  expect(code).toBe(0)
  expectAllStored(sandbox, 3000)
  // The reset came before the service allocated anything; nobody on this side can know that.
  expect(stderr).toMatch(
    /up to \d+ profiles may have been allocated and not received, in requests that failed/,
  )
})

test.concurrent('if large responses break, fetch asks for fewer profiles and stores all', async () => {
  const sandbox = await startSandbox(PATIENT)
  // Some proxies are like this. Four hundred profiles are less, eight hundred are more.
  sandbox.fault({ kind: 'torn-after', bytes: 400_000, times: Number.POSITIVE_INFINITY })
  const { code, stderr } = await sandbox.fetch(['-n', '3000'])
  expect(code).toBe(0)
  expectAllStored(sandbox, 3000)
  const burnt = lostBy(sandbox)
  // Twice: a full batch, of which more than five hundred profiles are whole; then a little more than what passes.
  expect(burnt).toBeLessThanOrEqual(500 + 100)
  expect(stderr).toMatch(RegExp(`up to ${burnt} profiles may have been allocated and not received`))
  const broken = sandbox.requests.findIndex(({ status }) => status === 'dropped')
  expect(sandbox.asked()[0]).toBe(100)
  expect(sandbox.asked().slice(broken + 1, broken + 5)).toEqual([1, 2, 4, 8])
})
