import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Pace } from '../../src/fetch/pace.ts'

const forever = new AbortController().signal

/** A call that ends when it is told to. */
function heldCall() {
  const { promise, resolve } = Promise.withResolvers<void>()
  const call = { isRunning: false, end: resolve }
  const run = async () => {
    call.isRunning = true
    await promise
  }
  return { call, run }
}

/** Long enough for everything that waits for nothing to run. */
async function settle() {
  for (let i = 0; i < 10; i++) await turn()
}

test('the first request runs alone, until its response says how many are left', async () => {
  const pace = new Pace(() => {})
  const [first, second] = [heldCall(), heldCall()]
  const running = [pace.run(first.run, forever), pace.run(second.run, forever)]
  await settle()
  expect([first.call.isRunning, second.call.isRunning]).toEqual([true, false])

  pace.learn({ remaining: 5, waitMs: 1000 }, performance.now())
  first.call.end()
  await settle()
  expect(second.call.isRunning).toBe(true)
  second.call.end()
  await Promise.all(running)
})

test('at most as many run in parallel as the last response said are left', async () => {
  const pace = new Pace(() => {})
  await pace.run(async () => pace.learn({ remaining: 3, waitMs: 60_000 }, performance.now()), forever)
  const stop = new AbortController()
  const calls = Array.from({ length: 5 }, heldCall)
  const running = calls.map(({ run }) => pace.run(run, stop.signal))
  await settle()
  expect(calls.map(({ call }) => call.isRunning)).toEqual([true, true, true, false, false])

  stop.abort()
  for (const { call } of calls) call.end()
  const results = await Promise.allSettled(running)
  expect(results.map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'fulfilled',
    'rejected',
    'rejected',
  ])
})

test('open requests are subtracted from what a response says is left', async () => {
  const pace = new Pace(() => {})
  await pace.run(async () => pace.learn({ remaining: 10, waitMs: 60_000 }, performance.now()), forever)
  const [slow, other] = [heldCall(), heldCall()]
  const running = [pace.run(slow.run, forever)]
  // This answer may not have counted the slow call yet: of the one that it says is left, none is.
  const stop = new AbortController()
  await pace.run(async () => pace.learn({ remaining: 1, waitMs: 60_000 }, performance.now()), forever)
  const waiting = pace.run(other.run, stop.signal)
  await settle()
  expect([slow.call.isRunning, other.call.isRunning]).toEqual([true, false])

  stop.abort()
  slow.call.end()
  await expect(waiting).rejects.toThrow()
  await Promise.all(running)
})

test('nothing is sent before the reset', async () => {
  const pace = new Pace(() => {})
  const learnt = performance.now()
  await pace.run(async () => pace.learn({ remaining: 0, waitMs: 120 }, learnt), forever)
  const sent = await pace.run(async () => performance.now(), forever)
  expect(sent).toBeGreaterThanOrEqual(learnt + 120)
})

test('after the reset, one request runs alone again', async () => {
  const pace = new Pace(() => {})
  await pace.run(async () => pace.learn({ remaining: 0, waitMs: 1 }, performance.now() - 1000), forever)
  const [first, second] = [heldCall(), heldCall()]
  const running = [pace.run(first.run, forever), pace.run(second.run, forever)]
  await settle()
  expect([first.call.isRunning, second.call.isRunning]).toEqual([true, false])
  first.call.end()
  await settle()
  expect(second.call.isRunning).toBe(true)
  second.call.end()
  await Promise.all(running)
})

test('without a limit from the service, there is none', async () => {
  const pace = new Pace(() => {})
  await pace.run(
    async () => pace.learn({ remaining: undefined, waitMs: undefined }, performance.now()),
    forever,
  )
  const calls = Array.from({ length: 50 }, heldCall)
  const running = calls.map(({ run }) => pace.run(run, forever))
  await settle()
  expect(calls.filter(({ call }) => call.isRunning)).toHaveLength(50)
  for (const { call } of calls) call.end()
  await Promise.all(running)
})

test('a wait is reported before it begins, and ends when it is cancelled', async () => {
  const stop = new AbortController()
  const waits: number[] = []
  const pace = new Pace((ms) => {
    waits.push(ms)
    stop.abort()
  })
  await pace.run(async () => pace.learn({ remaining: 0, waitMs: 100_000 }, performance.now()), forever)
  const { call, run } = heldCall()
  await expect(pace.run(run, stop.signal)).rejects.toThrow()
  expect(call.isRunning).toBe(false)
  expect(waits).toHaveLength(1)
  expect(waits[0]).toBeGreaterThan(0)
  expect(waits[0]).toBeLessThanOrEqual(100_000)
})

test('a failed request lets the next one start', async () => {
  const pace = new Pace(() => {})
  const broken = pace.run(async () => {
    throw new Error('broken')
  }, forever)
  await expect(broken).rejects.toThrow('broken')
  expect(await pace.run(async () => 'next', forever)).toBe('next')
})

test('what is called off before its turn is not sent', async () => {
  const pace = new Pace(() => {})
  await expect(pace.run(async () => 'sent', AbortSignal.abort())).rejects.toThrow()
})
