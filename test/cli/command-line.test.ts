import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readArgv, withOnly } from '../../src/cli/command-line.ts'
import { COMMANDS } from '../../src/cli/run.ts'
import { mistakeIn } from '../../src/cli/usage-errors.ts'
import { commandLine } from '../support/arbitrary.ts'
import { commandByClipanion, DEFINITIONS, nameByClipanion } from '../support/commands.ts'

/** Reads a command line with a blank between its words. */
const read = (line: string) => readArgv(line.split(' '), DEFINITIONS)

describe('the forms of an option', () => {
  test.each([
    ['fetch -n5', 'fetch -n=5'],
    ['fetch -n=5', 'fetch -n=5'],
    ['fetch -n 5', 'fetch -n=5'],
    ['fetch --count 5', 'fetch --count=5'],
    ['fetch --count=', 'fetch --count='],
    ['fetch -n ', 'fetch -n='],
    ['fetch -n', 'fetch -n'],
    ['fetch -n -5', 'fetch -n=-5'],
    ['fetch -5', 'fetch -5'],
    ['fetch -n -v5', 'fetch -n -v -5'],
    ['next -kkeys/my.pem -iprofiles', 'next -k=keys/my.pem -i=profiles'],
    ['next -k -', 'next -k=-'],
    ['fetch -ahttps=odd', 'fetch -a=https=odd'],
    ['next -vvk a.pem', 'next -v -v -k=a.pem'],
    ['next -vka.pem', 'next -v -k=a.pem'],
    ['next --format json', 'next --format=json'],
    ['next --format --crc', 'next --format --crc'],
    ['next --format', 'next --format'],
    ['--format next', '--format next'],
    ['next --format=raw extra', 'next --format=raw extra'],
    ['-vvv next', '-v -v -v next'],
    ['next -- -k --', 'next -- -k --'],
    ['status --receipts a b -v c', 'status --receipts=a --receipts=b -v c'],
    ['--receipts=a b status c', '--receipts=a --receipts=b status c'],
    ['status --receipts a next -- b', 'status --receipts=a --receipts=next -- b'],
    ['status --receipts', 'status --receipts'],
  ])('%j', (line, expected) => expect(read(line).argv.join(' ')).toBe(expected))

  test('a command line in the normal form stays unchanged', () => {
    fc.assert(
      fc.property(commandLine, (typed) => {
        const { argv } = readArgv(typed, DEFINITIONS)
        expect(readArgv(argv, DEFINITIONS).argv).toEqual(argv)
      }),
    )
  })
})

describe('words and option values', () => {
  test.each([
    ['-i fetch next -k x', 'next'],
    ['-o next fetch', 'fetch'],
    ['--out=next fetch', 'fetch'],
    ['-onext fetch', 'fetch'],
    ['-vo next fetch', 'fetch'],
    ['--format next -k fetch', 'next'],
    ['--format fetch.json next', 'next'],
    ['--crc fetch', 'fetch'],
    ['help next', 'help next'],
    ['-- next -h', 'next -h'],
    ['-x next fetch', 'next fetch'],
    ['-k - next', 'next'],
    ['--receipts a b status c', 'status c'],
    ['-', '-'],
  ])('%j', (line, words) => expect(read(line).words.join(' ')).toBe(words))
})

describe('help and the version', () => {
  test.each<[line: string, asksHelp: boolean, asksVersion: boolean]>([
    ['-h', true, false],
    ['--help', true, false],
    ['-V', false, true],
    ['--version', false, true],
    ['-vhV', true, true],
    ['next -k -h', true, false],
    ['next -k=-h', false, false],
    ['next -kh', false, false],
    ['next -k=--help', false, false],
    ['next -- -h -V', false, false],
    ['next --no-version', false, false],
    ['help', false, false],
  ])('%s asks for help: %s, for the version: %s', (line, asksHelp, asksVersion) => {
    expect(read(line)).toMatchObject({ asksHelp, asksVersion })
  })
})

test('finds the same command as Clipanion, with the same values, and the same errors', () => {
  let taken = 0
  const property = fc.property(commandLine, (typed) => {
    const line = readArgv(typed, DEFINITIONS)
    if (line.asksHelp || line.asksVersion) return
    const mistake = mistakeIn(line, DEFINITIONS, 'linux')
    // To Clipanion, the last value counts.
    if (mistake?.message.includes('more than once')) return
    const isRight = mistake === undefined
    expect(nameByClipanion(line.argv)).toBe(isRight ? line.words[0] : undefined)
    if (!isRight) return
    const given = line.options.map(({ option }) => option)
    const prepared = COMMANDS.map((command) => withOnly(given, command))
    expect({ ...commandByClipanion(line.argv, prepared) }).toEqual({ ...commandByClipanion(line.argv) })
    taken++
  })
  fc.assert(property, { numRuns: 3000, seed: 1 })
  // Or it would show nothing.
  expect(taken).toBeGreaterThan(100)
})

test('no option takes a value in one command and none in another', () => {
  const kinds = new Map<string, Set<string>>()
  for (const [name, value] of DEFINITIONS.flatMap(({ values }) => [...values])) {
    kinds.set(name, (kinds.get(name) ?? new Set()).add(value))
  }
  for (const [name, values] of kinds) expect([...values], name).toHaveLength(1)
})
