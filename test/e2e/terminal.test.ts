/** Calls at a terminal: script(1) gives them one. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, inject, test } from 'vitest'
import { directoryOf, namesIn, someProfiles, temporaryDirectory } from '../support/directory.ts'
import { API_KEY, startSandbox } from '../support/sandbox.ts'
import { softsim, until } from '../support/softsim.ts'
import { hasProgram } from '../support/system.ts'

/** Of what a call says at a terminal of so many columns, all comes on standard output. */
const terminal = (columns: number) => ({
  shell: `exec script -qec "stty cols ${columns} && exec $*" /dev/null`,
})

const hasTerminal = process.platform === 'linux' && hasProgram('script')

test.skipIf(!hasTerminal)('-k - at a terminal says what it waits for', async () => {
  const { stdout } = await softsim(['status', '-k', '-', '-i', temporaryDirectory()], terminal(80))
  expect(stdout).toMatch(
    /^softsim: waiting for the private key, from the keyboard: after it, press Ctrl-D\r\n/,
  )
})

describe.skipIf(!hasTerminal)('fetch at a terminal', () => {
  /** Fetches where the first request fails, and waits until the terminal shows what is expected, or it ends. */
  async function shownBy(columns: number, expected: RegExp, env: Record<string, string> = {}) {
    const { startFetch, fault, directory } = await startSandbox()
    fault({ kind: 'reset' })
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

  test('shows its progress, and why it tries again', async () => {
    const again = /0 % \(0 of 3\), the connection to the service was reset; trying again now \(t\.\.\./
    expect(await shownBy(80, again, { TERM: 'xterm' })).toContain('\u001b[36m')
  })

  test('cut to the width of the terminal', async () => {
    const shown = await shownBy(40, /0 % \(0 of 3\), the connection to th\.\.\./)
    const frames = shown.split('\u001b[?2026h').slice(1)
    for (const frame of frames) {
      const [line = ''] = stripVTControlCharacters(frame.split('\u001b[?2026l')[0] ?? '').split('\r')
      expect(line.length, line).toBeLessThan(40)
    }
  })

  test('without any control sequence under TERM=dumb', async () => {
    const { fetch } = await startSandbox()
    const { code, stdout } = await fetch(['-n', '3'], { ...terminal(80), env: { TERM: 'dumb' } })
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^softsim: stored 3 profiles in .*\r\n.* 3 unused profiles now\r\n$/),
    ])
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

  test('with zero columns, as some serial consoles report: it still ends', async () => {
    const { fetch, directory } = await startSandbox()
    const { code, stdout } = await fetch(['-n', '3'], terminal(0))
    expect([code, namesIn(directory).length]).toEqual([0, 3])
    expect(stdout).toMatch(/^softsim: stored 3 profiles in /)
  })
})

describe.skipIf(!hasTerminal)('next at a terminal', () => {
  const key = inject('keys').privateKeyPath
  const argv = () => ['next', '-k', key, '-i', directoryOf(someProfiles(2)), '-n', '2']
  const WARNING = /^softsim: warning: a secret is on the screen: .*$/gm
  const PROFILES = /[0-9a-f]{200,}/g

  const another = `words="$*"; export words; exec script -qec 'exec script -qec "exec $words 2>$(tty)" /dev/null' /dev/null`

  test.each([
    ['that is its standard output warns once that a secret is on the screen', terminal(80).shell, 1],
    ['that is not its standard output, as a serial port is another one, does not', another, undefined],
    ['with a pipe as its standard output does not', 'exec script -qec "$* | cat" /dev/null', undefined],
  ])('%s', async (_, shell, warnings) => {
    const { code, stdout } = await softsim(argv(), { shell })
    expect([code, stdout.match(PROFILES)?.length, stdout.match(WARNING)?.length]).toEqual([0, 2, warnings])
  })
})

test.skipIf(!hasTerminal)('status, where there is no progress, writes only text to a terminal', async () => {
  const { code, stdout } = await softsim(['status', '-i', directoryOf(someProfiles(1))], terminal(80))
  expect(code).toBe(0)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control sequences begin with it
  expect(stdout).not.toMatch(/\u001b/)
})
