import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { Report } from '../../src/cli/report.ts'
import { fetchProfiles } from '../../src/fetch/fetch.ts'
import { namesIn, temporaryDirectory } from '../support/directory.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/softsim.ts'

const API_KEY = 'softsim-key'
let service: Service

beforeAll(async () => {
  const { publicKey } = inject('keys')
  service = await startService({ apiKeys: [{ key: API_KEY, kind: 'softsim', publicKey }] })
})
afterAll(() => service.close())

test('a request without a response is aborted after the grace period', async () => {
  const directory = temporaryDirectory()
  let said = ''
  const messages = new Report((text) => {
    said += text
  })
  const [stop, abort] = [new AbortController(), new AbortController()]
  service.fault({ kind: 'hold', until: new Promise(() => {}) })
  const { url } = service
  const fetching = fetchProfiles({
    ...{ apiKey: API_KEY, count: 3, directory, url, version: '1.2.3', messages },
    progress: { follow() {} },
    stop: stop.signal,
    abort: abort.signal,
  })
  const ended = expect(fetching).rejects.toEqual(
    expect.objectContaining({ outcome: 'interrupted', message: expect.stringContaining('stored 0 of 3') }),
  )
  await until(() => service.allocated.size === 3)
  stop.abort()
  abort.abort()
  await ended
  expect(said).toContain('1 request failed after it was sent: up to 3 profiles may have been allocated')
  expect([service.requests.length, namesIn(directory)]).toEqual([1, []])
})
