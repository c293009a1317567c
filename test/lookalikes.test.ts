/** Values that look like commands and options: nothing may be printed unless help or the version was asked for. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readArgv } from '../src/cli/command-line.ts'
import { mistakeIn } from '../src/cli/usage-errors.ts'
import { DEFINITIONS } from './support/commands.ts'
import { knownLine } from './support/lookalikes.ts'

const LINES = fc.sample(knownLine, { numRuns: 200, seed: 10 })

test('the 200 command lines include every kind', () => {
  const count = (chosen: (line: (typeof LINES)[number]) => boolean) => LINES.filter(chosen).length
  for (const command of ['next', 'fetch', 'help', undefined]) {
    expect(
      count((line) => line.command === command && line.asks),
      command,
    ).toBeGreaterThan(10)
  }
  expect(count(({ prints }) => prints)).toBeGreaterThan(20)
  expect(count(({ command, asks, prints }) => command === 'next' && asks && !prints)).toBeGreaterThan(20)
})

test.each(LINES)('$argv', ({ argv, asks, command, prints }) => {
  const line = readArgv(argv, DEFINITIONS)
  expect([line.asksHelp || line.asksVersion, line.words[0] ?? 'none']).toEqual([
    asks,
    expect.stringMatching(command ?? /none|nxet/),
  ])
  const isPrinted = (asks || command === 'help') && mistakeIn(line, DEFINITIONS) === undefined
  expect(isPrinted).toBe(prints)
})
