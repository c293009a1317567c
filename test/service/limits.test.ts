import { expect, test, vi } from 'vitest'
import { Client } from '../../src/service/client.ts'
import type { Timeouts } from '../../src/service/connection.ts'

/** What the client asks of its connections. */
const asked = vi.hoisted((): Timeouts[] => [])

vi.mock('../../src/service/connection.ts', async (original) => {
  const connection = await original<typeof import('../../src/service/connection.ts')>()
  const noting =
    <R>(make: (timeouts: Timeouts) => R) =>
    (timeouts: Timeouts) => {
      asked.push(timeouts)
      return make(timeouts)
    }
  return {
    ...connection,
    directly: noting(connection.directly),
    throughProxy: noting(connection.throughProxy),
  }
})

test('a connection may take 20 s, a silence three minutes, and no answer is too slow that brings 20 kB in five', async () => {
  const client = new Client({ url: new URL('https://127.0.0.1:1/'), apiKey: 'softsim-key', trace: () => {} })
  await client.close()
  const limits = { connect: 20_000, silence: 180_000, least: { bytes: 20_000, ms: 300_000 } }
  expect(asked).toEqual([limits, limits])
})
