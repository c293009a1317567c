/** Calls at a terminal: script(1) gives them one. */
import { describe, expect, test } from 'vitest'
import { namesIn } from '../support/directory.ts'
import { startSandbox } from '../support/sandbox.ts'
import { until } from '../support/softsim.ts'
import { hasProgram } from '../support/system.ts'

/** Of what a call says at a terminal of so many columns, all comes on standard output. */
const terminal = (columns: number) => ({
  shell: `exec script -qec "stty cols ${columns} && exec $*" /dev/null`,
})

describe.skipIf(process.platform !== 'linux' || !hasProgram('script'))('fetch at a terminal', () => {
  test('shows its progress', async () => {
    const { startFetch, fault, directory } = await startSandbox()
    const { promise, resolve: release } = Promise.withResolvers<void>()
    fault({ kind: 'hold', until: promise })
    const { child, ended } = startFetch(['-n', '3'], terminal(80))
    let shown = ''
    child.stdout?.on('data', (text) => {
      shown += text
    })
    await until(() => shown.includes('0 of 3 profiles stored') || child.exitCode !== null)
    release()
    const { code, stdout } = await ended
    expect([code, namesIn(directory).length]).toEqual([0, 3])
    expect(stdout).toContain('softsim: stored 3 profiles in ')
  })

  test('with zero columns, as some serial consoles report: it still ends', async () => {
    const { fetch, directory } = await startSandbox()
    const { code, stdout } = await fetch(['-n', '3'], terminal(0))
    expect([code, namesIn(directory).length]).toEqual([0, 3])
    expect(stdout).toMatch(/^softsim: stored 3 profiles in /)
  })
})
