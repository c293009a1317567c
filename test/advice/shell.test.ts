import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { asking, quote, setting, unsetting } from '../../src/advice/shell.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { hasPosix, isWindows } from '../support/system.ts'

test.each<[NodeJS.Platform, string, string]>([
  ['linux', 'keys/softsim.pem', 'keys/softsim.pem'],
  ['linux', '/srv/my profiles', "'/srv/my profiles'"],
  ['linux', "it's", "'it'\\''s'"],
  ['darwin', 'C:\\profiles', "'C:\\profiles'"],
  ['linux', '', "''"],
  ['win32', 'C:\\profiles', 'C:\\profiles'],
  ['win32', '\\\\server\\share\\profiles', '\\\\server\\share\\profiles'],
  ['win32', 'C:\\Users\\RUNNER~1\\key.pem', 'C:\\Users\\RUNNER~1\\key.pem'],
  ['win32', 'C:\\my profiles', '"C:\\my profiles"'],
  ['win32', 'C:\\my profiles\\', '"C:\\my profiles\\\\"'],
  ['win32', "it's & co", '"it\'s & co"'],
  ['win32', 'Müller.pem', '"Müller.pem"'],
  ['win32', '', '""'],
])('on %s, %j is written as %s', (system, path, expected) => expect(quote(path, system)).toBe(expected))

test('variables, in the syntax of the system', () => {
  expect(setting('A_KEY', 'linux')).toBe('export A_KEY=...')
  expect(setting('A_KEY', 'win32')).toBe('in cmd: set A_KEY=...\nin PowerShell: $env:A_KEY = "..."')
  expect(unsetting('A', 'linux')).toBe('unset A')
  expect(unsetting('A', 'win32')).toBe('in cmd: set A=\nin PowerShell: $env:A = $null')
  expect(asking('A_KEY', 'darwin')).toBe('read -rs A_KEY && export A_KEY')
  expect(asking('A_KEY', 'win32')).toBe('in cmd: set /p A_KEY=\nin PowerShell: $env:A_KEY = Read-Host')
})

describe('a pasted path is one word', () => {
  test.skipIf(!hasPosix)('into sh', () => {
    const path = fc.string({ unit: 'grapheme-ascii', maxLength: 12 })
    fc.assert(
      fc.property(fc.array(path, { minLength: 1, maxLength: 20 }), (paths) => {
        const line = `printf '%s\\n' ${paths.map((each) => quote(each)).join(' ')}`
        expect(spawnSync('/bin/sh', ['-c', line], { encoding: 'utf8' }).stdout).toBe(`${paths.join('\n')}\n`)
      }),
      { numRuns: 20 },
    )
  })

  test.skipIf(!isWindows).each([
    ['cmd', ['/d', '/c']],
    ['powershell', ['-NoProfile', '-NonInteractive', '-Command']],
  ])('into %s', (shell, options) => {
    const script = join(temporaryDirectory(), 'print.cjs')
    writeFileSync(script, 'process.stdout.write(JSON.stringify(process.argv.slice(2)))')
    const local = ['C:\\profiles', 'C:\\my profiles', 'C:\\my profiles\\', "D:\\it's, & (co)"]
    const paths = [...local, '\\\\server\\a share']
    // Both shells run the program at hand under this name.
    const line = `node ${quote(script)} ${paths.map((path) => quote(path)).join(' ')}`
    const run = spawnSync(shell, [...options, line], {
      encoding: 'utf8',
      windowsVerbatimArguments: shell === 'cmd',
    })
    const printed: string[] = JSON.parse(run.stdout)
    // The newest PowerShell keeps both backslashes at the end of a quoted path, which names the same directory.
    expect(printed.map((path) => path.replace(/\\\\$/, '\\'))).toEqual(paths)
  })
})
