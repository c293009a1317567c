import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { readText } from '../../src/service/body.ts'

const LEAST = { bytes: 100, ms: 10 }

test('an answer that drips after a good beginning is given up', async () => {
  async function* body() {
    yield Buffer.alloc(10_000)
    for (let part = 0; part < 20; part++) {
      await sleep(2 * LEAST.ms)
      yield Buffer.alloc(1)
    }
  }
  await expect(readText(body(), 1_000_000, LEAST)).rejects.toMatchObject({
    isPassing: true,
    mayHaveAllocated: true,
  })
})

test('one that is slow, and not as slow as that, is read to its end', async () => {
  async function* body() {
    for (let part = 0; part < 5; part++) {
      await sleep(2 * LEAST.ms)
      yield Buffer.alloc(LEAST.bytes, 'x')
    }
  }
  expect(await readText(body(), 1_000_000, LEAST)).toBe('x'.repeat(500))
})
