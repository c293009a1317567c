import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { readStart, readWhole } from '../../src/service/body.ts'

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

const KIB = 1024

/** A body that arrives at once, and then breaks or ends. */
async function* bodyOf(text: string, breaks = false) {
  yield Buffer.from(text)
  if (breaks) throw new Error('reset')
}

test('a response may be as large as allowed, and no larger', async () => {
  expect(await readWhole(bodyOf('12345'), 5, LEAST)).toHaveLength(5)
  const call = readWhole(bodyOf('123456'), 5, LEAST)
  await expect(call).rejects.toMatchObject({ isPassing: false, mayHaveAllocated: true })
})

test.each([
  ['of 16 KiB is whole', 16 * KIB, false, 16 * KIB],
  ['that is longer loses its last 4 KiB', 16 * KIB + 1, false, 12 * KIB + 1],
  ['that breaks off loses its last 4 KiB', 10 * KIB, true, 6 * KIB],
])('an error text %s: a part of a secret at its end would not be masked', async (_, size, breaks, kept) => {
  expect(await readStart(bodyOf('x'.repeat(size), breaks), LEAST)).toHaveLength(kept)
})

test('of an error text that arrives too slowly, the beginning is read', async () => {
  async function* body() {
    for (;;) {
      yield Buffer.alloc(KIB)
      await sleep(2 * LEAST.ms)
    }
  }
  const least = { bytes: 2 * KIB, ms: LEAST.ms }
  expect((await readStart(body(), least)).length).toBeLessThan(KIB)
})
