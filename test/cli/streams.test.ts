import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { isWritePending, writeLines, writeStandardError } from '../../src/cli/streams.ts'

/** A standard output that does not block. */
const output = vi.hoisted(() => ({
  text: '',
  attempts: 0,
  /** How many bytes the next write takes: none is EAGAIN. */
  takes: (_attempt: number): number => 0,
  /** Whether a write never ends, as at a serial port with a stuck device. */
  hangs: false,
}))

/** A standard error. */
const errors = vi.hoisted(() => ({
  text: '',
  attempts: 0,
  /** Why the next write fails, if it does. */
  failure: (_attempt: number): string | undefined => undefined,
}))

vi.mock('node:fs', async (original) => ({
  ...(await original<typeof import('node:fs')>()),
  write(_file: number, bytes: Buffer, done: (error: Error | null, written: number) => void) {
    if (output.hangs) return
    const taken = Math.min(output.takes(++output.attempts), bytes.length)
    output.text += bytes.toString('utf8', 0, taken)
    const full = Object.assign(new Error('EAGAIN'), { code: 'EAGAIN' })
    setImmediate(done, taken > 0 ? null : full, taken)
  },
  writeSync(_file: number, bytes: Buffer) {
    const code = errors.failure(++errors.attempts)
    if (code !== undefined) throw Object.assign(new Error(code), { code })
    errors.text += bytes.toString()
    return bytes.length
  },
}))

/** How long it has waited for a reader of standard error. */
const waits = vi.hoisted(() => ({ ms: 0 }))

vi.mock('../../src/pause.ts', () => ({
  pause(ms: number) {
    waits.ms += ms
  },
}))

const LINES = ['a profile\n', 'another\n']
const TEXT = LINES.join('')

beforeEach(() => {
  Object.assign(output, { text: '', attempts: 0, takes: () => 0, hangs: false })
  Object.assign(errors, { text: '', attempts: 0, failure: () => undefined })
  waits.ms = 0
})
afterEach(() => vi.useRealTimers())

test.each([
  ['between two writes', 3, 0],
  ['after the system has accepted some bytes', 2, 3],
])('a signal %s ends the attempts', async (_, last, taken) => {
  const stop = new AbortController()
  output.takes = (attempt) => {
    if (attempt === last) stop.abort('interrupted')
    return attempt === 1 ? taken : 0
  }
  await expect(writeLines(LINES, stop.signal)).rejects.toBe('interrupted')
  expect([output.attempts, output.text, isWritePending()]).toEqual([last, TEXT.slice(0, taken), false])
})

test('after a signal, one write is still tried', async () => {
  output.takes = () => TEXT.length
  await writeLines(LINES, AbortSignal.abort('interrupted'))
  expect(output.text).toBe(TEXT)
})

test('after a signal, a write that does not end is given up', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  output.hangs = true
  const onEnd = vi.fn()
  writeLines(LINES, AbortSignal.abort('interrupted')).catch(onEnd)
  await vi.advanceTimersByTimeAsync(199)
  expect(onEnd).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  // The system may still take all of it.
  expect(onEnd).toHaveBeenCalledWith('interrupted')
  expect(isWritePending()).toBe(true)
})

test('a message waits for a reader that is slow', () => {
  errors.failure = (attempt) => (attempt < 100 ? 'EAGAIN' : undefined)
  writeStandardError('a message\n')
  expect(errors.text).toBe('a message\n')
})

test('a message that nobody reads for a second is dropped', () => {
  errors.failure = () => 'EAGAIN'
  writeStandardError('a message\n')
  expect([waits.ms, errors.text]).toEqual([1000, ''])
})

test('a reader that has not read for two seconds is told of, once', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  output.hangs = true
  const onSlow = vi.fn()
  void writeLines(LINES, undefined, onSlow)
  await vi.advanceTimersByTimeAsync(1999)
  expect(onSlow).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(onSlow).toHaveBeenCalledTimes(1)
})

test('of a reader that has read, nothing is told later', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  output.takes = () => TEXT.length
  const onSlow = vi.fn()
  await writeLines(LINES, undefined, onSlow)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(onSlow).not.toHaveBeenCalled()
})

test('a message that nobody can read any more is tried once', () => {
  errors.failure = () => 'EPIPE'
  writeStandardError('a message\n')
  expect([errors.attempts, errors.text]).toEqual([1, ''])
})
