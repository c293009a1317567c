import { afterEach, expect, test, vi } from 'vitest'
import type { Download } from '../../src/fetch/download.ts'
import { CallFailure } from '../../src/service/call-failure.ts'
import type { Batch } from '../../src/service/response.ts'
import { answerOf, downloadOf as job } from '../support/download.ts'

const all = (size: number) => size
const passing = (mayHaveAllocated = false) => new CallFailure('broken', { isPassing: true, mayHaveAllocated })
const done = (changes: Partial<Download>) => ({
  broken: 0,
  brokenProfiles: 0,
  failure: undefined,
  trouble: undefined,
  ...changes,
})

afterEach(() => vi.useRealTimers())

test('the first request is alone and small, then the size doubles', async () => {
  const { asked, run, kept } = job(2345, all, { perSecond: 300 })
  expect(await run()).toEqual(done({ requests: 5 }))
  expect(asked).toEqual([100, 200, 400, 800, 845])
  expect(kept()).toBe(2345)
})

test('then a few requests of the largest size run in parallel', async () => {
  const { asked, run, mostUnderWay, mostReserved } = job(20_000, all)
  await run()
  expect(asked.slice(2, -1)).toEqual(asked.slice(2, -1).map(() => 1000))
  expect([mostUnderWay(), mostReserved() <= 6]).toEqual([4, true])
})

test('asks again for the profiles missing from a short response', async () => {
  const { asked, run, kept } = job(1000, (size, call) => (call === 2 ? size - 50 : size))
  await run()
  expect(asked).toEqual([100, 800, 150])
  expect(kept()).toBe(1000)
})

test('a response with nothing new ends the download', async () => {
  const { run, kept } = job(3000, (size, call) => (call === 1 ? size : 0))
  expect([(await run()).failure, kept()]).toEqual([undefined, 100])
})

test('profiles that already exist do not count', async () => {
  const keep = async (received: readonly unknown[]) => received.length - 1
  const { asked, run } = job(3, all, { keep })
  await run()
  expect(asked).toEqual([3, 1])
})

test('404 ends the download, and any other failure says more', async () => {
  const noMore = new CallFailure('no more', { facts: 'no-more' })
  const { run, kept } = job(2000, (size, call) => (call === 1 ? size : noMore))
  expect(await run()).toEqual(done({ requests: 2, failure: noMore }))
  expect(kept()).toBe(100)
  const broken = new Error('disk')
  const keep = async () => {
    await new Promise(setImmediate)
    throw broken
  }
  const fails = job(50_000, (size, call) => (call < 5 ? size : noMore), { keep })
  expect((await fails.run()).failure).toBe(broken)
})

test('a temporary failure is retried and reported; if it cost nothing, the size stays the same', async () => {
  const { asked, said, run } = job(500, (size, call) => (call === 2 ? passing() : size))
  expect(await run()).toEqual(done({ requests: 3 }))
  expect(asked).toEqual([100, 400, 400])
  expect(
    said.filter((text) => /^broken; trying again in 1 s \(try 2, up to 120 s\)$/.test(text)),
  ).toHaveLength(1)
})

test('a permanent failure ends the download at once', async () => {
  const failure = new CallFailure('no')
  const { asked, run } = job(5000, () => failure)
  expect(await run()).toEqual(done({ requests: 1, failure }))
  expect(asked).toEqual([100])
})

test('after a broken request it asks for less, and counts what the request may have cost', async () => {
  const { asked, run, kept, reserved } = job(1500, (size, call) => (call === 2 ? passing(true) : size))
  expect(await run()).toEqual(done({ requests: asked.length, broken: 1, brokenProfiles: 800 }))
  expect(asked).toEqual([100, 800, 1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 400, 450, 38])
  expect([kept(), reserved()]).toEqual([1500, 0])
})

test('after four parallel requests break, only one runs at a time', async () => {
  let underWay = 0
  let most = 0
  let broken = 0
  const { asked, run, kept } = job(20_000, async (size) => {
    underWay++
    await new Promise(setImmediate)
    const isBroken = broken < 4 && (underWay === 4 || broken > 0)
    if (broken >= 4 && size < 1000) most = Math.max(most, underWay)
    underWay--
    if (isBroken) {
      broken++
      throw passing(true)
    }
    return answerOf(size)
  })
  expect(await run()).toEqual(done({ requests: asked.length, broken: 4, brokenProfiles: 4000 }))
  expect(asked.slice(asked.lastIndexOf(1), asked.lastIndexOf(1) + 3)).toEqual([1, 2, 4])
  expect([most, kept()]).toEqual([1, 20_000])
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

test.each([
  ['half a minute if it has never answered', 0, 30],
  ['two minutes if it has', 1, 120],
])('a service that can’t be reached is given up after %s', async (_, answers, seconds) => {
  vi.useFakeTimers()
  let last = 0
  const failure = passing()
  const { run, kept } = job(500, (size, call) => {
    last = performance.now() / 1000
    return call <= answers ? size : failure
  })
  const running = run()
  await vi.advanceTimersByTimeAsync(300_000)
  expect([(await running).failure, kept()]).toEqual([failure, 100 * answers])
  expect(last).toBeGreaterThanOrEqual(seconds)
  // A pause takes up to 20 seconds.
  expect(last).toBeLessThan(seconds + 21)
})

test('no further request is sent before the first response is saved', async () => {
  const { promise, resolve: release } = Promise.withResolvers<void>()
  const keep = async (received: readonly unknown[]) => {
    await promise
    return received.length
  }
  const { asked, run } = job(500, all, { keep })
  const running = run()
  // Long enough for everything that waits for nothing.
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
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
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
  expect([asked.length, mostUnderWay()]).toEqual([7, 1])
  release()
  expect((await running).failure).toBeUndefined()
})

test('a stop ends the pause before the next try', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  const stop = new AbortController()
  const { run, said, asked } = job(500, () => passing(), { stop: stop.signal })
  const running = run()
  while (said.length === 0) await new Promise(setImmediate)
  stop.abort()
  expect((await running).failure).toBeUndefined()
  expect(asked).toEqual([100])
})

/** A service of whose entries so many in a hundred are good. What was put aside is in `aside`. */
function poorJob(count: number, good: number) {
  const aside: number[] = []
  const answer = (size: number) => {
    const usable = Math.ceil((size * good) / 100)
    return answerOf(usable, size - usable)
  }
  return { ...job(count, answer, { keepUnread: async (_, refused) => void aside.push(refused) }), aside }
}

test('a service most of whose entries can not be used is not asked on and on', async () => {
  const { asked, aside, run, kept } = poorJob(5000, 10)
  expect((await run()).failure).toMatchObject({ facts: { kind: 'mostly-refused' }, isPassing: false })
  expect([asked, aside, kept()]).toEqual([[100, 100], [90, 90], 20])
})

test.each([
  ['half of whose entries can be used', 5000, 50],
  ['that sends few entries', 60, 10],
])('a service %s is asked until all profiles are there', async (_, count, good) => {
  const { run, kept } = poorJob(count, good)
  expect([(await run()).failure, kept()]).toEqual(count === 60 ? [expect.anything(), 12] : [undefined, 5000])
})

test('an answer that can not be read is put aside', async () => {
  const unread = Buffer.from('?')
  const kept: unknown[] = []
  const failure = new CallFailure('no list', { mayHaveAllocated: true, unread })
  const { run, reserved } = job(50, () => failure, {
    keepUnread: async (...each) => void kept.push(each),
  })
  expect((await run()).failure).toBe(failure)
  expect([kept, reserved()]).toEqual([[[unread, 0]], 0])
})

test('a failure to save profiles ends the download', async () => {
  const full = new Error('no space left')
  const keep = async () => {
    throw full
  }
  const { asked, run } = job(5000, all, { keep })
  expect(await run()).toEqual(done({ requests: 1, failure: full }))
  expect(asked).toEqual([100])
})

test('profiles that could not be saved are not requested again', async () => {
  const full = new Error('no space left')
  const reserve = async () => {
    throw full
  }
  const { asked, run } = job(50, all, { reserve })
  expect(await run()).toEqual(done({ requests: 0, failure: full }))
  expect(asked).toEqual([])
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
    for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
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
  const full = new Error('no space left')
  const fourth = () => {
    stop.abort()
    return answerOf(0, 5)
  }
  expect((await twoFailures(fourth, full, stop)).failure).toBe(full)
})

test('after a stop, no new request is sent, and open requests are saved', async () => {
  const stop = new AbortController()
  const answer = (size: number, call: number) => {
    if (call === 7) stop.abort()
    return size
  }
  const { asked, run, kept } = job(50_000, answer, { stop: stop.signal })
  expect((await run()).failure).toBeUndefined()
  expect(kept()).toBe(asked.reduce((sum, size) => sum + size))
  expect(asked.length).toBeLessThan(12)
})
