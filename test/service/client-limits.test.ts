import { expect, test, vi } from 'vitest'
import { clientOf } from '../../src/service/client.ts'
import type { Bounds } from '../../src/service/connection.ts'

/** What the client asks of its connections. */
const asked = vi.hoisted((): Bounds[] => [])

const noting = vi.hoisted(() => <R>(make: (bounds: Bounds) => R) => (bounds: Bounds) => {
  asked.push(bounds)
  return make(bounds)
})

vi.mock('../../src/service/connection.ts', async (original) => {
  const connection = await original<typeof import('../../src/service/connection.ts')>()
  const { directly, throughProxy } = connection
  return { ...connection, directly: noting(directly), throughProxy: noting(throughProxy) }
})

test('a connection may take 20 s, a silence three minutes, and no answer is too slow that brings 20 kB in five', async () => {
  const client = clientOf({ url: new URL('https://127.0.0.1:1/'), apiKey: 'softsim-key', trace: () => {} })
  await client.close()
  const limits = {
    connections: 4,
    connect: 20_000,
    silence: 180_000,
    idle: 1000,
    least: { bytes: 20_000, ms: 300_000 },
  }
  expect(asked).toEqual([limits, limits])
})
