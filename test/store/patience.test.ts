import { afterEach, expect, test, vi } from 'vitest'
import { patiently } from '../../src/store/patience.ts'

const station = vi.hoisted(() => ({ pausedMs: 0 }))

vi.mock('../../src/pause.ts', () => ({
  pause: (ms: number) => {
    station.pausedMs += ms
  },
}))

const platform = process.platform

afterEach(() => {
  Object.defineProperty(process, 'platform', { value: platform })
  station.pausedMs = 0
})

/** How often something is tried that ends with this error so many times, and what comes of it. */
function tried(system: NodeJS.Platform, code: string, times: number) {
  Object.defineProperty(process, 'platform', { value: system })
  let tries = 0
  const action = () => {
    if (++tries <= times) throw Object.assign(new Error(code), { code })
    return 'done'
  }
  try {
    return { tries: () => tries, came: patiently(action) }
  } catch (error) {
    return { tries: () => tries, came: (error as Error).message }
  }
}

test.each(['EACCES', 'EBUSY', 'EPERM'])(
  'on Windows, a file that is open elsewhere is awaited: %s',
  (code) => {
    const { tries, came } = tried('win32', code, 50)
    expect([came, tries(), station.pausedMs]).toEqual(['done', 51, 1000])
  },
)

test.each<[NodeJS.Platform, string, number]>([
  ['win32', 'EBUSY', 51],
  ['win32', 'ENOENT', 1],
  ['linux', 'EBUSY', 1],
  ['linux', 'ESTALE', 51],
  ['darwin', 'EPERM', 1],
])('on %s, %s is an error after %i tries', (system, code, most) => {
  const { tries, came } = tried(system, code, 1000)
  expect([came, tries()]).toEqual([code, most])
})
