import { expect, test } from 'vitest'
import type { ServedProfile } from '../../src/service/answer.ts'
import { type Download, download, type Job } from '../../src/service/download.ts'
import { CallFailure } from '../../src/service/failure.ts'

let made = 0
const profiles = (count: number): ServedProfile[] =>
  Array.from({ length: count }, () => ({ iccid: String(++made), profile: 'AAAA' }))

/** A job whose service answers each call as `answer` says; what it was asked for is in `asked`. */
function job(count: number, answer: (size: number, call: number) => number | CallFailure, changes = {}) {
  const asked: number[] = []
  let underWay = 0
  let mostUnderWay = 0
  const whole: Job = {
    count,
    ask: async (size, learn) => {
      const call = asked.push(size)
      mostUnderWay = Math.max(mostUnderWay, ++underWay)
      await new Promise(setImmediate)
      underWay--
      const answered = answer(size, call)
      if (answered instanceof CallFailure) throw answered
      learn({ remaining: 600 - call, waitMs: 60_000 })
      return { profiles: profiles(answered), refused: [] }
    },
    keep: async (received) => received.length,
    stop: new AbortController().signal,
    abort: new AbortController().signal,
    onWait: () => {},
    onRetry: () => {},
    onRefused: () => {},
    ...changes,
  }
  return { asked, run: () => download(whole), mostUnderWay: () => mostUnderWay }
}

const all = (size: number) => size
const passing = (mayHaveAllocated = false) => new CallFailure('broken', { isPassing: true, mayHaveAllocated })
const done = (changes: Partial<Download>) => ({
  broken: 0,
  brokenProfiles: 0,
  failure: undefined,
  ...changes,
})

test('asks in batches, the first alone', async () => {
  const { asked, run } = job(2345, all)
  expect(await run()).toEqual(done({ kept: 2345, requests: 3 }))
  expect(asked).toEqual([1000, 1000, 345])
})

test('then a few run at once', async () => {
  const { asked, run, mostUnderWay } = job(20_000, all)
  await run()
  expect(asked).toHaveLength(20)
  expect(mostUnderWay()).toBeGreaterThan(1)
  expect(mostUnderWay()).toBeLessThan(10)
})

test('asks again for what a short answer left out', async () => {
  const { asked, run } = job(2500, (size, call) => (call === 2 ? size - 100 : size))
  expect(await run()).toEqual(done({ kept: 2500, requests: 4 }))
  expect(asked).toEqual([1000, 1000, 500, 100])
})

test('an answer that brings nothing new ends it', async () => {
  const { run } = job(3000, (size, call) => (call === 1 ? size : 0))
  const { kept, failure } = await run()
  expect([kept, failure]).toEqual([1000, undefined])
})

test('what is there already does not count', async () => {
  const keep = async (received: readonly ServedProfile[]) => received.length - 1
  const { asked, run } = job(3, all, { keep })
  expect((await run()).kept).toBe(2)
  expect(asked).toEqual([3, 1])
})

test('404 ends it, and is no failure', async () => {
  const noMore = new CallFailure('no more', { status: 404 })
  const { run } = job(2000, (size, call) => (call === 1 ? size : noMore))
  expect(await run()).toEqual(done({ kept: 1000, requests: 2 }))
})

test('what will pass is tried again, and told', async () => {
  const told: CallFailure[] = []
  const onRetry = (failure: CallFailure) => told.push(failure)
  const { asked, run } = job(5, (size, call) => (call <= 2 ? passing() : size), { onRetry })
  expect(await run()).toEqual(done({ kept: 5, requests: 3 }))
  expect(asked).toEqual([5, 5, 5])
  expect(told).toHaveLength(2)
})

test('what will not pass ends it at once', async () => {
  const failure = new CallFailure('no', { status: 400 })
  const { asked, run } = job(5000, () => failure)
  expect(await run()).toEqual(done({ kept: 0, requests: 1, failure }))
  expect(asked).toEqual([1000])
})

test('a call that broke after it was sent is counted, with what it may have cost', async () => {
  const { run } = job(1500, (size, call) => (call <= 2 ? passing(true) : size))
  expect(await run()).toEqual(done({ kept: 1500, requests: 4, broken: 2, brokenProfiles: 2000 }))
})

test('profiles that cannot be kept end it', async () => {
  const full = new Error('no space left')
  const keep = async () => {
    throw full
  }
  const { asked, run } = job(5000, all, { keep })
  expect(await run()).toEqual(done({ kept: 0, requests: 1, failure: full }))
  expect(asked).toHaveLength(1)
})

test('after a stop nothing more is asked, and what is under way is kept', async () => {
  const stop = new AbortController()
  const answer = (size: number, call: number) => {
    if (call === 2) stop.abort()
    return size
  }
  const { asked, run } = job(50_000, answer, { stop: stop.signal })
  const { kept, failure } = await run()
  expect(failure).toBeUndefined()
  expect(kept).toBe(asked.length * 1000)
  expect(asked.length).toBeLessThan(10)
})
