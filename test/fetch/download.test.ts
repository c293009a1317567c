import { afterEach, expect, test, vi } from 'vitest'
import type { Download } from '../../src/fetch/download.ts'
import { CallFailure } from '../../src/service/call-failure.ts'
import type { Batch } from '../../src/service/response.ts'
import { answerOf, downloadOf as job } from '../support/download.ts'

const all = (size: number) => size
const passing = (mayHaveAllocated = false) => new CallFailure('broken', { isPassing: true, mayHaveAllocated })
const NOTHING = { broken: 0, brokenProfiles: 0, failure: undefined, trouble: undefined }
const done = (changes: Partial<Download>) => ({ ...NOTHING, ...changes })

afterEach(() => vi.useRealTimers())

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
    await new Promise(setImmediate)
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
  const fourth = () => {
    stop.abort()
    return answerOf(0, 5)
  }
  expect((await twoFailures(fourth, full, stop)).failure).toBe(full)
})
