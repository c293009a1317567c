import { afterEach, beforeEach, expect, inject, test, vi } from 'vitest'
import { Report } from '../../src/cli/report.ts'
import { fetchProfiles } from '../../src/fetch/fetch.ts'
import { namesIn, temporaryDirectory } from '../support/directory.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/softsim.ts'
import { disk, systemError } from '../support/watched-fs.ts'

vi.mock('node:fs', async () => (await import('../support/watched-fs.ts')).watchedFs)

const API_KEY = 'softsim-key'
let service: Service

beforeEach(async () => {
  const { publicKey } = inject('keys')
  service = await startService({ apiKeys: [{ key: API_KEY, kind: 'softsim', publicKey }] })
})
afterEach(() => service.close())

/** Begins to fetch three profiles. */
function startFetch(directory: string) {
  let said = ''
  const messages = new Report((text) => {
    said += text
  })
  const [stop, abort] = [new AbortController(), new AbortController()]
  const { url } = service
  const fetching = fetchProfiles({
    ...{ apiKey: API_KEY, count: 3, directory, url, version: '1.2.3', messages },
    progress: { follow() {}, note() {}, end() {} },
    stop: stop.signal,
    abort: abort.signal,
  })
  return { fetching, stop, abort, said: () => said }
}

test('a request without a response is aborted after the grace period', async () => {
  const directory = temporaryDirectory()
  service.fault({ kind: 'hold', until: new Promise(() => {}) })
  const { fetching, stop, abort, said } = startFetch(directory)
  const ended = expect(fetching).rejects.toEqual(
    expect.objectContaining({
      facts: { kind: 'interrupted-fetch', left: 3 },
      message: expect.stringContaining('stored 0 of 3'),
    }),
  )
  await until(() => service.allocated.size === 3)
  stop.abort()
  abort.abort()
  await ended
  expect(said()).toContain('1 request failed after it was sent: up to 3 profiles may have been allocated')
  expect([service.requests.length, namesIn(directory)]).toEqual([1, []])
})

test('a disk that is full before all profiles have their names: those that have theirs count as stored', async () => {
  const directory = temporaryDirectory()
  let room = 2
  disk.before = (call, path) => {
    if (call === 'rename' && path.endsWith('.json') && room-- <= 0) throw systemError('ENOSPC')
  }
  const { fetching, said } = startFetch(directory)
  await expect(fetching).rejects.toMatchObject({
    facts: { kind: 'put-aside', stored: 2, known: 0 },
    message: expect.stringContaining('ENOSPC'),
  })
  expect(said()).toContain(`softsim: stored 2 of 3 profiles in ${directory}, 1 more put aside there (`)
  expect(namesIn(directory)).toHaveLength(2)
})
