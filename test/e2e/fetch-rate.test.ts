import { expect, test } from 'vitest'
import { iccid } from '../support/profiles.ts'
import { startSandbox } from '../support/sandbox.ts'
import type { Fault } from '../support/service.ts'

/** Answers of two new profiles each, however many were asked for: many calls, few files. */
const smallAnswers = (count: number): Fault[] =>
  Array.from({ length: count }, (_, n) => ({
    kind: 'replace',
    profiles: [iccid(2 * n), iccid(2 * n + 1)].map((each) => ({ iccid: each, profile: 'AAAA' })),
  }))

const noMore: Fault = { kind: 'status', status: 404, times: Number.POSITIVE_INFINITY }

test.concurrent.each([1, 2, 3])('%i requests per window: never more', async (callsPerMinute) => {
  const sandbox = await startSandbox({ callsPerMinute, windowSeconds: 0.2 })
  sandbox.fault(...smallAnswers(callsPerMinute + 1), noMore)
  const { code } = await sandbox.fetch(['-n', '5000'])
  expect(code).toBe(8)
  // The service answers 429 to whatever comes before the reset.
  expect(sandbox.statuses()).not.toContain(429)
  expect(sandbox.requests.length).toBeGreaterThan(callsPerMinute)
})

test.concurrent('no wait for the next window after the service has run out', async () => {
  const sandbox = await startSandbox({ callsPerMinute: 2, windowSeconds: 100 })
  sandbox.fault(...smallAnswers(1), noMore)
  const { code, stderr } = await sandbox.fetch(['-n', '5000'])
  expect([code, sandbox.statuses()]).toEqual([8, [200, 404]])
  expect(stderr).toMatch(/stored 2 of 5000/)
})

test.concurrent('a second fetch within a window finds the limit used up and waits for the reset', async () => {
  const { fetch, requests } = await startSandbox({ callsPerMinute: 1, windowSeconds: 2 })
  expect(await fetch()).toMatchObject({ code: 0 })
  expect(await fetch()).toMatchObject({ code: 0 })
  // It cannot know before it asks: at most once too often. On a machine that is very busy, the window may be over.
  const refused = requests.filter(({ status }) => status === 429).length
  expect([requests.length - refused, refused <= 1]).toEqual([2, true])
  // The window ends two seconds after the call that used it up.
  const [first = 0, last = 0] = [requests[0]?.time, requests.at(-1)?.time]
  expect(last - first).toBeGreaterThanOrEqual(1990)
})
