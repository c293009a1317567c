import { expect, test, vi } from 'vitest'
import { startLog, withProgress } from '../../src/cli/progress.ts'
import { Report } from '../../src/cli/report.ts'

test('a log gets a line when something has changed, at most one in ten seconds', () => {
  vi.useFakeTimers()
  let said = 0
  let line = '0 %'
  const progress = startLog(new Report(() => void said++))
  progress.follow(() => line)
  const after = (ms: number) => {
    vi.advanceTimersByTime(ms)
    return said
  }
  expect([after(9999), after(1), after(30_000)]).toEqual([0, 1, 1])
  line = 'the service is down'
  line = '1 %'
  expect([after(9999), after(1)]).toEqual([1, 2])
  progress.end()
  line = '2 %'
  expect(after(60_000)).toBe(2)
  vi.useRealTimers()
})

test('what is printed ends it: nothing is said amid the lines', async () => {
  vi.useFakeTimers()
  const said: string[] = []
  await withProgress(new Report((text) => void said.push(text)), async (progress, print) => {
    progress.follow(() => '1 %')
    await print('')
    vi.advanceTimersByTime(10_000)
  })
  vi.useRealTimers()
  expect(said).toEqual([])
})
