import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type Download, viewOf } from '../../src/fetch/download.ts'
import { CallFailure, type Limit } from '../../src/service/call-failure.ts'
import type { Batch } from '../../src/service/response.ts'
import { answerOf, downloadOf as job } from '../support/download.ts'

const all = (size: number) => size
const passing = (mayHaveAllocated = false) => new CallFailure('broken', { isPassing: true, mayHaveAllocated })
const NOTHING = { broken: 0, brokenProfiles: 0, failure: undefined, trouble: undefined }
const done = (changes: Partial<Download>) => ({ ...NOTHING, ...changes })

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** Long enough for everything that waits for nothing to run. */
async function settle() {
  for (let i = 0; i < 100; i++) await turn()
}

test('then a few requests of the largest size run in parallel', async () => {
  const { asked, run, mostUnderWay, mostReserved } = job(20_000, all)
  await run()
  expect(asked.slice(2, -1)).toEqual(asked.slice(2, -1).map(() => 1000))
  expect([mostUnderWay(), mostReserved() <= 6]).toEqual([4, true])
})

test('404 ends the download, and any other failure says more', async () => {
  const noMore = new CallFailure('no more', { facts: 'no-more' })
  const { run, kept } = job(2000, (size, call) => (call === 1 ? size : noMore))
  expect(await run()).toEqual(done({ requests: 2, failure: noMore }))
  expect(kept()).toBe(100)
  const broken = new Error('disk')
  const keep = async () => {
    await turn()
    throw broken
  }
  const fails = job(50_000, (size, call) => (call < 5 ? size : noMore), { keep })
  expect((await fails.run()).failure).toBe(broken)
})

test('a request breaks while others wait for the rate limit: what these then leave out is requested later', async () => {
  vi.useFakeTimers()
  const { asked, run, kept } = job(20_000, (size, call) => {
    // The first of four in parallel. The other three wait for it.
    if (call === 4) return passing(true)
    return { ...answerOf(size), limit: { remaining: 1, waitMs: 0 } }
  })
  const running = run()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(await running).toEqual(done({ requests: asked.length, broken: 1, brokenProfiles: 1000 }))
  expect([kept(), Math.min(...asked)]).toEqual([20_000, 1])
})

test('no further request is sent before the first response is saved', async () => {
  const { promise, resolve: release } = Promise.withResolvers<void>()
  const keep = async (received: readonly unknown[]) => {
    await promise
    return received.length
  }
  const { asked, run } = job(500, all, { keep })
  const running = run()
  await settle()
  expect(asked).toEqual([100])
  release()
  await running
  expect(asked).toEqual([100, 400])
})

test('requests go on while six responses at most are awaited or being saved', async () => {
  const { promise, resolve: release } = Promise.withResolvers<void>()
  let keeps = 0
  const keep = async (received: readonly unknown[]) => {
    if (++keeps > 1) await promise
    return received.length
  }
  const { asked, run, mostUnderWay } = job(50_000, all, { keep, perSecond: 50 })
  const running = run()
  await settle()
  expect([asked.length, mostUnderWay()]).toEqual([7, 1])
  release()
  expect((await running).failure).toBeUndefined()
})

test('a stop ends the pause before the next try', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  const stop = new AbortController()
  const { run, said, asked } = job(500, () => passing(), { stop: stop.signal })
  const running = run()
  while (said.length === 0) await turn()
  stop.abort()
  expect((await running).failure).toBeUndefined()
  expect(asked).toEqual([100])
})

const full = new Error('no space left')
const fails = async () => {
  throw full
}

test.each<[string, object, number[]]>([
  ['can’t be saved: they are not requested again', { keep: fails }, [100]],
  ['have no space: they are not requested', { reserve: fails }, []],
])('a failure of the disk ends the download, and profiles %s', async (_, intake, expected) => {
  const { asked, run } = job(5000, all, intake)
  expect(await run()).toEqual(done({ requests: expected.length, failure: full }))
  expect(asked).toEqual(expected)
})

test('a request without a result releases its reserved space', async () => {
  const { run, reserved } = job(50, () => new CallFailure('no'))
  await run()
  expect(reserved()).toBe(0)
})

/** A download whose fourth and fifth requests, which run in parallel, bring these; the fifth is stored last. */
function twoFailures(fourth: (size: number) => Batch, fifth: Error, stop = new AbortController()) {
  const answer = (size: number, call: number) => {
    if (call === 4) return fourth(size)
    return call === 5 ? answerOf(size + 1) : size
  }
  const keep = async (received: readonly unknown[]) => {
    if (received.length <= 1000) return received.length
    await settle()
    throw fifth
  }
  return job(50_000, answer, { keep, stop: stop.signal }).run()
}

test('the first of several failures is the reason', async () => {
  const { failure } = await twoFailures(() => answerOf(0, 5), new Error('no space left'))
  expect(failure).toMatchObject({ message: 'the answer has no profile that can be used' })
})

test('after a stop, a failure of the disk is the reason, and none of the service', async () => {
  const stop = new AbortController()
  const fourth = () => {
    stop.abort()
    return answerOf(0, 5)
  }
  expect((await twoFailures(fourth, full, stop)).failure).toBe(full)
})

describe('the rate limit', () => {
  const answered = (size: number, limit: Limit) => ({ ...answerOf(size), limit })
  const noneFor = (waitMs: number): Limit => ({ remaining: 0, waitMs })
  const left = (remaining: number): Limit => ({ remaining, waitMs: 60_000 })

  /** A download whose requests from the fourth on, of 1000 profiles each, are answered when the test says so. */
  function heldDownload(limit: Limit) {
    const stop = new AbortController()
    const held: ((limit: Limit) => void)[] = []
    const parts = job(
      50_000,
      (size, call) =>
        call <= 3
          ? answered(size, limit)
          : new Promise((resolve) => {
              held.push((next) => resolve(answered(size, next)))
            }),
      { stop: stop.signal },
    )
    return { ...parts, held, stop }
  }

  test.each([
    ['none is left: one, to learn the limit', { remaining: 0, waitMs: 0 }, 1],
    ['one is left', left(1), 1],
    ['three are left', left(3), 3],
    ['more are left than ever run at once', left(50), 4],
    ['the service has no limit', { remaining: undefined, waitMs: undefined }, 4],
  ])('requests that run in parallel if %s', async (_, limit, count) => {
    const { run, held, stop, asked, kept } = heldDownload(limit)
    const running = run()
    await settle()
    expect(held).toHaveLength(count)

    stop.abort()
    for (const answer of held) answer(limit)
    expect(await running).toMatchObject({ requests: 3 + count, failure: undefined })
    expect(kept()).toBe(asked.reduce((sum, size) => sum + size))
  })

  test('open requests are among those that a response says are left', async () => {
    const { run, held, stop, asked } = heldDownload(left(2))
    const running = run()
    await settle()
    expect(held).toHaveLength(2)
    // This answer may not have counted the other request yet: of the one that it says is left, none is.
    held[0]?.(left(1))
    await settle()
    expect(held).toHaveLength(2)
    held[1]?.(left(3))
    await settle()
    expect(held).toHaveLength(5)

    stop.abort()
    for (const answer of held) answer(left(9))
    await running
    expect(asked).toHaveLength(8)
  })

  test('four requests that the limit refuses together are repeated one at a time, after the reset', async () => {
    let resetAt = 0
    let early = 0
    const after: number[] = []
    const { run, mostUnderWay, kept } = job(20_000, async (size, call) => {
      if (call <= 3) return answerOf(size)
      await settle()
      if (call <= 7) {
        resetAt = performance.now() + 1500
        throw new CallFailure('the rate limit is reached (429)', { isPassing: true, limit: noneFor(1500) })
      }
      if (performance.now() < resetAt) early++
      after.push(call)
      await settle()
      // Until this one is answered, no other is sent.
      if (call === 8) expect(after).toEqual([8])
      return answered(size, left(500))
    })
    expect(await run()).toMatchObject({ broken: 0, failure: undefined })
    expect([early, mostUnderWay(), kept()]).toEqual([0, 4, 20_000])
  })

  test('a wait is reported before it begins, and ends when it is cancelled', async () => {
    const stop = new AbortController()
    const none = (size: number) => answered(size, noneFor(100_000))
    const { run, said, asked } = job(500, none, { stop: stop.signal })
    const running = run()
    await settle()
    expect(said.at(-1)).toBe('waiting 100 s for the rate limit')
    stop.abort()
    expect(await running).toMatchObject({ requests: 1, failure: undefined })
    expect(asked).toEqual([100])
  })

  test('a download that is stopped before it begins sends nothing', async () => {
    const { run, asked } = job(500, (size) => size, { stop: AbortSignal.abort() })
    expect(await run()).toMatchObject({ requests: 0, failure: undefined })
    expect(asked).toEqual([])
  })

  test.each([
    ['not at all', 0, [1, 1, 2, 4, 8, 16]],
    ['by half', 0.5, [1, 2, 3, 6, 12, 20]],
  ])(
    'the pauses between tries double, up to twenty seconds; chance makes them longer %s',
    async (_, chance, seconds) => {
      vi.useFakeTimers()
      vi.spyOn(Math, 'random').mockReturnValue(chance)
      const { run, said } = job(1, () => new CallFailure('broken', { isPassing: true }))
      const running = run()
      await vi.advanceTimersByTimeAsync(120_000)
      await running
      const pauses = said.map((each) => Number(/trying again in (\d+) s/.exec(each)?.[1]))
      expect(pauses).toEqual(seconds)
    },
  )
})

describe('what is told of it', () => {
  const silent = { warn() {}, tell() {} }
  const tally = { stored: 0 }
  const viewAt = (count: number) => {
    tally.stored = 0
    return viewOf(count, tally, silent, () => {})
  }

  test('how far it is, and how long it will take', () => {
    const view = viewAt(50_000)
    expect(view.line(3000)).toBe('0 % (0 of 50000)')
    tally.stored = 1
    view.noteStored(1000)
    const seen = [1, 12_499, 12_600, 49_999, 50_000].map((each) => {
      tally.stored = each
      view.noteStored(61_000)
      return view.line(61_000)
    })
    // One answer alone says nothing about the time that the others will take.
    expect(seen).toEqual([
      '0 % (1 of 50000)',
      '24 % (12499 of 50000), 4 min left',
      '25 % (12600 of 50000), 3 min left',
      '99 % (49999 of 50000), 1 s left',
      '100 % (50000 of 50000)',
    ])
  })

  test('the rate limit, until profiles arrive again', () => {
    const view = viewAt(8)
    tally.stored = 4
    view.noteLimit(40_000, 2000)
    expect(view.line(2000)).toBe('50 % (4 of 8), waiting 40 s for the rate limit')
    expect(view.line(41_500)).toBe('50 % (4 of 8), waiting 1 s for the rate limit')
    expect([42_000, 50_000].map((now) => view.line(now))).toEqual(['50 % (4 of 8)', '50 % (4 of 8)'])
    view.noteStored(50_000)
    expect(view.line(51_000)).toBe('50 % (4 of 8)')
    tally.stored = 6
    expect(view.line(52_000)).toBe('75 % (6 of 8), 2 s left')
  })

  test('why it tries again, when, and for how long', () => {
    const view = viewAt(3)
    view.noteRetry('the service refuses the connection (ECONNREFUSED)', 1500, 'try 3 of 6', 2000)
    const line = (when: string) =>
      `0 % (0 of 3), the service refuses the connection; trying again ${when} (try 3 of 6)`
    const actual = [2000, 3000, 3499, 3500, 9000].map((now) => view.line(now))
    expect(actual).toEqual(['in 2 s', 'in 1 s', 'in 1 s', 'now', 'now'].map(line))
  })

  test('messages: waits, tries and steps with -v, bad entries as warnings; waits and tries are noted', () => {
    const said: string[] = []
    const messages = {
      warn: (text: string) => void said.push(`warning: ${text}`),
      tell: (level: number, text: string) => void said.push(`${level}: ${text}`),
    }
    let notes = 0
    const view = viewOf(8, { stored: 4 }, messages, () => void notes++)
    view.noteLimit(1500, 0)
    view.noteRetry('it refuses (ECONNREFUSED)', 1500, 'try 3 of 6', 0)
    view.noteRefused(['entry 1: no ICCID', 'entry 2: no profile'])
    view.noteStored(0)
    expect(said).toEqual([
      '1: waiting 2 s for the rate limit',
      '1: it refuses (ECONNREFUSED); trying again in 2 s (try 3 of 6)',
      'warning: entry 1: no ICCID; not stored',
      'warning: entry 2: no profile; not stored',
      '1: 4 of 8 profiles stored',
    ])
    expect(notes).toBe(2)
  })
})
