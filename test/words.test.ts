import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  asking,
  durationOf,
  fromPutty,
  keepingPrivate,
  keyOfVariable,
  oddEnd,
  printable,
  quote,
  setting,
  several,
  sizeOf,
  toAscii,
  unsetting,
} from '../src/words.ts'
import { temporaryDirectory } from './support/directory.ts'
import { hasPosix, isWindows } from './support/system.ts'

test('singular and plural', () =>
  expect([several(1, 'file'), several(2, 'file')]).toEqual(['1 file', '2 files']))

test('sizes', () =>
  expect([1, 999_001, 1e6, 1_638_400_000, 1.024e12].map(sizeOf)).toEqual([
    '1 kB',
    '1000 kB',
    '1.0 MB',
    '1.6 GB',
    '1024.0 GB',
  ]))

test.each([
  [0, '0 s'],
  [1, '1 s'],
  [99_000, '99 s'],
  [99_001, '2 min'],
  [120_001, '3 min'],
  [99 * 60_000, '99 min'],
  [99 * 60_000 + 1, '2 h'],
])('a duration of %i ms, rounded up: %s', (ms, words) => expect(durationOf(ms)).toBe(words))

test.each([
  ['a\r', 'ends in a carriage return: the script has Windows line ends'],
  ['a\n', 'ends in a line break'],
  ['a ', 'ends in a space'],
  [' a', undefined],
])('the end of a name that nobody sees: %j', (name, words) => expect(oddEnd(name)).toBe(words))

test('what a terminal would obey is escaped, and nothing else', () => {
  // The last ones of each range, and what comes after them. They turn the direction of a text, or end a line.
  for (const code of [0, 0x1b, 0x1f, 0x7f, 0x80, 0x9b, 0x9f, 0x2028, 0x202e, 0x2066, 0x2069])
    expect(printable(String.fromCharCode(code))).toBe(`\\u{${code.toString(16)}}`)
  const harmless = String.fromCharCode(0x20, 0x7e, 0xa0, 0xe4, 0x2027, 0x202f, 0x2065, 0x206a)
  expect(printable(harmless)).toBe(harmless)
})

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
])('on %s, a path %j is written as %s', (platform, path, expected) =>
  expect(quote(path, platform)).toBe(expected),
)

test('variables, in the syntax of the system', () => {
  expect(setting('A_KEY', 'linux')).toBe('export A_KEY=...')
  expect(setting('A_KEY', 'win32')).toBe('in cmd: set A_KEY=...\nin PowerShell: $env:A_KEY = "..."')
  expect(unsetting('A', 'linux')).toBe('unset A')
  expect(unsetting('A', 'win32')).toBe('in cmd: set A=\nin PowerShell: $env:A = $null')
  expect(asking('A_KEY', 'darwin')).toBe('read -rs A_KEY && export A_KEY')
  expect(asking('A_KEY', 'win32')).toBe('in cmd: set /p A_KEY=\nin PowerShell: $env:A_KEY = Read-Host')
})

test('no command of another system is shown on Windows', () => {
  const path = 'C:\\my keys\\softsim.pem'
  for (const words of [keepingPrivate, fromPutty, toAscii, keyOfVariable, setting, unsetting, asking])
    expect(words(path, 'win32')).not.toMatch(/chmod|export |unset |printenv|&&|'/)
  expect(keepingPrivate('my key', 'linux')).toBe("chmod 600 'my key' && ")
})

test('messages are ASCII: a log or a console can have any code page', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((each) =>
    each.endsWith('.ts'),
  )
  expect(files.length).toBeGreaterThan(50)
  // Texts of other services may contain these characters.
  for (const file of files.filter((each) => !each.endsWith('error-page.ts'))) {
    const code = readFileSync(join('src', file), 'utf8').replace(/^ *(\*|\/[/*]).*$/gm, '')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is ASCII too
    expect(code, file).not.toMatch(/[^\x00-\x7f]/)
  }
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
    const paths = [
      'C:\\profiles',
      'C:\\my profiles',
      'C:\\my profiles\\',
      "D:\\it's, & (co)",
      '\\\\server\\a share',
    ]
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
