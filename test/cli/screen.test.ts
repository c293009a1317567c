import { expect, test, vi } from 'vitest'
import { isOnScreen } from '../../src/cli/streams.ts'

vi.mock('node:fs', async (original) => ({
  ...(await original<typeof import('node:fs')>()),
  fstatSync: () => {
    throw Object.assign(new Error('invalid argument'), { code: 'EINVAL' })
  },
}))

// After the print, nothing may fail: under Wine, each call of next into a file ended with 9.
test('an output that Windows can not describe, such as a port, is no screen', () => {
  const { platform } = process
  Object.defineProperty(process, 'platform', { value: 'win32' })
  try {
    expect(isOnScreen()).toBe(false)
  } finally {
    Object.defineProperty(process, 'platform', { value: platform })
  }
})
