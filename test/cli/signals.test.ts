import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { onInterrupt } from '../../src/cli/streams.ts'

const NEVER_MS = 1_000_000
let interrupt: ReturnType<typeof onInterrupt> | undefined

afterEach(() => {
  interrupt?.release()
  vi.restoreAllMocks()
})

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('a %s: a stop, and later an abort', async (signal) => {
  const told: boolean[] = []
  interrupt = onInterrupt(1, (isLast) => told.push(isLast))
  const aborted = once(interrupt.abort, 'abort')
  expect(interrupt.stop.aborted).toBe(false)
  process.emit(signal)
  expect([interrupt.stop.aborted, interrupt.abort.aborted, told]).toEqual([true, false, [false]])
  expect(interrupt.stop.reason).toMatchObject({
    ...{ outcome: 'interrupted', message: 'interrupted', hint: 'run the same command again' },
  })
  await aborted
})

test('after release, an earlier signal has no effect', async () => {
  const listeners = process.listenerCount('SIGHUP')
  interrupt = onInterrupt(1, () => {})
  expect(process.listenerCount('SIGHUP')).toBe(listeners + 1)
  process.emit('SIGHUP')
  interrupt.release()
  // Timers of one length end in the order in which they began.
  await sleep(1)
  expect(interrupt.abort.aborted).toBe(false)
  expect(process.listenerCount('SIGHUP')).toBe(listeners)
})

test('open work is given up when its time is over, and not before', () => {
  vi.useFakeTimers()
  interrupt = onInterrupt(10_000)
  vi.advanceTimersByTime(60_000)
  process.emit('SIGINT')
  vi.advanceTimersByTime(9999)
  expect(interrupt.abort.aborted).toBe(false)
  vi.advanceTimersByTime(1)
  expect(interrupt.abort.aborted).toBe(true)
  vi.useRealTimers()
})

test('a second signal ends the process, except after hold', () => {
  const exit = vi.spyOn(process, 'exit').mockImplementation((code) => {
    throw new Error(`exit ${code}`)
  })
  const told: boolean[] = []
  interrupt = onInterrupt(NEVER_MS, (isLast) => told.push(isLast))
  process.emit('SIGINT')
  // A terminal that is closed sends it more than once.
  process.emit('SIGHUP', 'SIGHUP')
  expect([told, exit.mock.calls]).toEqual([[false], []])
  expect(() => process.emit('SIGTERM')).toThrow('exit 130')
  expect(told).toEqual([false, true])
  interrupt.hold()
  process.emit('SIGINT')
  expect([told, exit.mock.calls.length]).toEqual([[false, true], 1])
})

test('the first signal after hold is a stop, too: it ends the wait for a reader', () => {
  interrupt = onInterrupt(NEVER_MS)
  interrupt.hold()
  process.emit('SIGHUP')
  expect(interrupt.stop.aborted).toBe(true)
})
