import { afterEach, expect, test, vi } from 'vitest'
import { startThreads } from '../../src/cli/commands/options.ts'

vi.mock('node:os', async (original) => ({ ...(await original<object>()), availableParallelism: () => 8 }))

afterEach(() => void vi.unstubAllEnvs())

test.each([
  ['7', 1, '7'],
  [undefined, 1, '1'],
  // Two are decrypted on all cores.
  [undefined, 2, '8'],
  [undefined, 1000, '32'],
])('UV_THREADPOOL_SIZE is %s: for %i profiles there are %s threads', (given, profiles, threads) => {
  vi.stubEnv('UV_THREADPOOL_SIZE', given)
  startThreads(profiles)
  expect(process.env['UV_THREADPOOL_SIZE']).toEqual(threads)
})
