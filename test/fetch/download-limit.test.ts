import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { CallFailure, type Limit } from '../../src/service/call-failure.ts'
import { answerOf, downloadOf } from '../support/download.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const answered = (size: number, limit: Limit) => ({ ...answerOf(size), limit })
const noneFor = (waitMs: number): Limit => ({ remaining: 0, waitMs })
const left = (remaining: number): Limit => ({ remaining, waitMs: 60_000 })

/** Long enough for everything that waits for nothing to run. */
async function settle() {
  for (let i = 0; i < 100; i++) await turn()
}

/** A download whose requests from the fourth on, of 1000 profiles each, are answered when the test says so. */
function heldDownload(limit: Limit) {
  const stop = new AbortController()
  const held: ((limit: Limit) => void)[] = []
  const parts = downloadOf(
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
  const { run, mostUnderWay, kept } = downloadOf(20_000, async (size, call) => {
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
  const { run, said, asked } = downloadOf(500, none, { stop: stop.signal })
  const running = run()
  await settle()
  expect(said.at(-1)).toBe('waiting 100 s for the rate limit')
  stop.abort()
  expect(await running).toMatchObject({ requests: 1, failure: undefined })
  expect(asked).toEqual([100])
})

test('a download that is stopped before it begins sends nothing', async () => {
  const { run, asked } = downloadOf(500, (size) => size, { stop: AbortSignal.abort() })
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
    const { run, said } = downloadOf(1, () => new CallFailure('broken', { isPassing: true }))
    const running = run()
    await vi.advanceTimersByTimeAsync(120_000)
    await running
    const pauses = said.map((each) => Number(/trying again in (\d+) s/.exec(each)?.[1]))
    expect(pauses).toEqual(seconds)
  },
)
