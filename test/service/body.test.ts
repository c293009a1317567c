import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { readWhole } from '../../src/service/body.ts'

const LEAST = { bytes: 100, ms: 10 }

test('a response that becomes very slow after a good start is aborted', async () => {
  async function* body() {
    yield Buffer.alloc(10_000)
    for (let part = 0; part < 20; part++) {
      await sleep(2 * LEAST.ms)
      yield Buffer.alloc(1)
    }
  }
  await expect(readWhole(body(), 1_000_000, LEAST)).rejects.toMatchObject({
    isPassing: true,
    mayHaveAllocated: true,
  })
})

test('a response that is slow, but above the limit, is read to the end', async () => {
  async function* body() {
    for (let part = 0; part < 5; part++) {
      await sleep(2 * LEAST.ms)
      yield Buffer.alloc(LEAST.bytes, 'x')
    }
  }
  expect(String(await readWhole(body(), 1_000_000, LEAST))).toBe('x'.repeat(500))
})
