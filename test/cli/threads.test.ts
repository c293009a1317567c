import { afterEach, expect, test, vi } from 'vitest'
import { startThreads } from '../../src/cli/commands/options.ts'

afterEach(() => void vi.unstubAllEnvs())

test.each([
  ['7', 1, '7'],
  [undefined, 1, '1'],
  [undefined, 1000, expect.stringMatching(/^(3[2-9]|[4-9]\d|\d{3,})$/)],
])('UV_THREADPOOL_SIZE is %s: for %i profiles there are %s threads', (given, profiles, threads) => {
  vi.stubEnv('UV_THREADPOOL_SIZE', given)
  startThreads(profiles)
  expect(process.env['UV_THREADPOOL_SIZE']).toEqual(threads)
})
