/** A fetch that shows its progress at a terminal: script(1) gives it one. Other calls are in transcripts/terminal.txt. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { namesIn, temporaryDirectory } from '../support/directory.ts'
import { API_KEY, startSandbox } from '../support/sandbox.ts'
import { until } from '../support/softsim.ts'
import { hasProgram } from '../support/system.ts'

/** Of what a call says at a terminal of so many columns, all comes on standard output. */
const terminal = (columns: number) => ({
  shell: `exec script -qec "stty cols ${columns} && exec $*" /dev/null`,
})

const hasTerminal = process.platform === 'linux' && hasProgram('script')

describe.skipIf(!hasTerminal)('fetch at a terminal', () => {
  /** Fetches, and waits until the terminal shows what is expected, or it ends. */
  async function shownBy(columns: number, expected: RegExp, env: Record<string, string> = {}) {
    const { startFetch, fault, directory } = await startSandbox()
    const { promise, resolve: release } = Promise.withResolvers<void>()
    fault({ kind: 'hold', until: promise })
    const { child, ended } = startFetch(['-n', '3'], { ...terminal(columns), env })
    let shown = ''
    child.stdout?.on('data', (text) => {
      shown += text
    })
    const isShown = () => expected.test(stripVTControlCharacters(shown))
    await until(() => isShown() || child.exitCode !== null)
    release()
    const { code, stdout } = await ended
    expect([code, namesIn(directory).length, isShown()]).toEqual([0, 3, true])
    expect(stdout).toContain('softsim: stored 3 profiles in ')
    return shown
  }

  test('shows its progress', async () => {
    expect(await shownBy(80, /0 % \(0 of 3\)/, { TERM: 'xterm' })).toContain('\u001b[36m')
  })

  test('cut to the width of the terminal', async () => {
    const shown = await shownBy(12, /0 % \(0 of/)
    const frames = shown.split('\u001b[?2026h').slice(1)
    for (const frame of frames) {
      const [line = ''] = stripVTControlCharacters(frame.split('\u001b[?2026l')[0] ?? '').split('\r')
      expect(line.length, line).toBeLessThan(12)
    }
  })

  test('shows no progress below its last message', async () => {
    const { fetch } = await startSandbox()
    const path = join(temporaryDirectory(), 'shown')
    const shell = `${terminal(80).shell} > ${path}`
    for (const [key, end, last] of [
      ['another-key', 'softsim: error: ', '0 % (0 of 3)'],
      [API_KEY, 'softsim: stored ', '100 % (3 of 3)'],
    ] as const) {
      await fetch(['-n', '3'], { shell, env: { SOFTSIM_API_KEY: key } })
      const [before, after] = readFileSync(path, 'utf8').split(end)
      expect(before).toContain(last)
      expect(after).not.toContain('of 3)')
    }
  })
})
