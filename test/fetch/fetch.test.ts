import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest'
import { Report } from '../../src/cli/report.ts'
import { fetchProfiles } from '../../src/fetch/fetch.ts'
import { namesIn, temporaryDirectory } from '../support/directory.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/softsim.ts'

/** Ten seconds of grace are long for a test. */
vi.mock('../../src/cli/signals.ts', async (original) => {
  const { onInterrupt } = await original<typeof import('../../src/cli/signals.ts')>()
  return {
    onInterrupt: (_: number, ...rest: [Parameters<typeof onInterrupt>[1]]) => onInterrupt(20, ...rest),
  }
})
vi.mock('../../src/cli/version.ts', () => ({ VERSION: '1.2.3' }))

const API_KEY = 'softsim-key'
let service: Service

beforeAll(async () => {
  const { publicKey } = inject('keys')
  service = await startService({ apiKeys: [{ key: API_KEY, kind: 'softsim', publicKey }] })
})
afterAll(() => service.close())

test('a call that the service does not answer is given up when the grace is over', async () => {
  const directory = temporaryDirectory()
  const report = new Report()
  let said = ''
  report.write = (text) => {
    said += text
  }
  service.fault({ kind: 'hold', until: new Promise(() => {}) })
  const { url } = service
  const fetching = fetchProfiles({ apiKey: API_KEY, count: 3, directory, url, env: {}, report })
  const ended = expect(fetching).rejects.toEqual(
    expect.objectContaining({ outcome: 'interrupted', message: expect.stringContaining('stored 0 of 3') }),
  )
  await until(() => service.allocated.size === 3)
  process.emit('SIGHUP')
  await ended
  expect(said).toContain('1 request broke after it was sent: up to 3 profiles may have been allocated')
  expect([service.requests.length, namesIn(directory)]).toEqual([1, []])
})
