/** Calls at a terminal: script(1) gives them one. */
import { describe, expect, inject, test } from 'vitest'
import { directoryOf, namesIn, someProfiles } from '../support/directory.ts'
import { startSandbox } from '../support/sandbox.ts'
import { softsim, until } from '../support/softsim.ts'
import { hasProgram } from '../support/system.ts'

/** Of what a call says at a terminal of so many columns, all comes on standard output. */
const terminal = (columns: number) => ({
  shell: `exec script -qec "stty cols ${columns} && exec $*" /dev/null`,
})

const hasTerminal = process.platform === 'linux' && hasProgram('script')

describe.skipIf(!hasTerminal)('fetch at a terminal', () => {
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

describe.skipIf(!hasTerminal)('next at a terminal', () => {
  const argv = () => [
    'next',
    '-k',
    inject('keys').privateKeyPath,
    '-i',
    directoryOf(someProfiles(2)),
    '-n',
    '2',
  ]
  const WARNING = /^softsim: warning: a secret is on the screen: .*$/gm
  const PROFILES = /^[0-9a-f]{200,}\r*$/gm

  test('warns once that a secret is on the screen', async () => {
    const { code, stdout } = await softsim(argv(), terminal(80))
    expect([code, stdout.match(PROFILES)?.length, stdout.match(WARNING)?.length]).toEqual([0, 2, 1])
  })

  test('that has another terminal as its standard output, as a serial port is one, does not', async () => {
    const shell = `words="$*"; export words; exec script -qec 'exec script -qec "exec $words 2>$(tty)" /dev/null' /dev/null`
    const { code, stdout } = await softsim(argv(), { shell })
    expect([code, stdout.match(PROFILES)?.length, stdout.match(WARNING)]).toEqual([0, 2, null])
  })

  test('with a pipe or a file as its standard output does not', async () => {
    const { code, stdout } = await softsim(argv(), {
      shell: `exec script -qec "$* | cat" /dev/null`,
    })
    expect([code, stdout.match(PROFILES)?.length, stdout.match(WARNING)]).toEqual([0, 2, null])
  })
})
