import { Cli } from 'clipanion'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { WITH_VALUE } from '../src/argv.ts'
import { FetchCommand } from '../src/commands/fetch.ts'
import { HelpCommand } from '../src/commands/help.ts'
import { NextCommand } from '../src/commands/next.ts'
import { Failure } from '../src/errors.ts'
import { FLAGS, syntaxFailure } from '../src/syntax.ts'

const cli = Cli.from([FetchCommand, NextCommand, HelpCommand], { binaryName: 'softsim' })

/** What is said of a command line that Clipanion refuses; undefined of one that it takes. */
function said(...argv: string[]): { message: string; hint: string | undefined } | undefined {
  try {
    cli.process(argv, {} as Parameters<typeof cli.process>[1])
    return undefined
  } catch (error) {
    const failure = syntaxFailure(error, argv, ['fetch', 'next', 'help'])
    if (!(failure instanceof Failure)) throw failure
    expect(failure.outcome).toBe('usage')
    return { message: failure.message, hint: failure.hint }
  }
}

test.each([
  [['fetch', '--nope'], 'unknown option --nope', 'softsim help fetch'],
  [['next', '-x'], 'unknown option -x', 'softsim help next'],
  [['fetch', '-n'], '-n needs a value', 'softsim help fetch'],
  [['next', '--key'], '--key needs a value', 'softsim help next'],
  [['next', '--crc=yes'], '--crc takes no value', 'softsim help next'],
  [
    ['next', 'more'],
    'there is a word too many on the command line; options begin with a dash',
    'softsim help next',
  ],
  [['fecth'], 'unknown command fecth', 'softsim help'],
  [['next', '-vx'], 'unknown option -x', 'softsim help next'],
  [['-vvv'], 'a command is missing: fetch, next or help', 'softsim help'],
  [
    ['help', 'next', 'more'],
    'there is a word too many on the command line; options begin with a dash',
    'softsim help',
  ],
])('%j', (argv, message, hint) => expect(said(...argv)).toEqual({ message, hint }))

test('the lists of options are those of the commands', () => {
  const definitions = cli.definitions().flatMap(({ options }) => options.map(({ definition }) => definition))
  const namesOf = (chosen: string[]) => [...new Set(chosen.flatMap((text) => text.match(/--?[\w-]+/g) ?? []))]
  const withValue = namesOf(definitions.filter((text) => text.includes('#0')))
  expect(withValue.filter((name) => name.length === 2).sort()).toEqual(
    [...WITH_VALUE].map((letter) => `-${letter}`).sort(),
  )
  // --format may go with a value or without.
  const flags = namesOf(definitions).filter((name) => !withValue.includes(name) && name !== '--format')
  expect([...flags, '-h', '--help'].sort()).toEqual([...FLAGS].sort())
})

test.each([
  ['--api-kye', 'SECRET1234'],
  ['--api-kye=SECRET1234'],
  ['-xSECRET1234'],
  ['-a', 'x', 'SECRET1234'],
  ['-n', '5', '-SECRET1234'],
  ['--count', '5', '--', 'SECRET1234'],
  ['-SECRET1234'],
  ['--SECRET1234abcdefghijklmnop'],
])('fetch %s %s %s: what may be a key is not repeated', (...argv) => {
  for (const line of [['fetch', ...argv], [...argv, 'fetch'], argv]) {
    const failure = said(...line)
    expect(`${failure?.message}\n${failure?.hint}`).not.toContain('SECRET')
  }
})

test('a word that looks like a key is no command to repeat', () => {
  for (const word of ['SECRET1234', 'secret1234', 'a'.repeat(40), '\u001b[31m']) {
    expect(said(word)?.message).toBe('unknown command')
  }
})

test('an error of another kind is passed on as it is', () => {
  const error = new TypeError('a bug')
  expect(syntaxFailure(error, [], [])).toBe(error)
})

test('any command line is taken, or refused in one line', () => {
  const names = [
    'fetch',
    'next',
    'help',
    '-n',
    '-k',
    '--format',
    '--count=',
    '--crc',
    '-v',
    '--',
    '-',
    '--no-smsc',
  ]
  const word = fc.oneof(fc.constantFrom(...names), fc.string())
  fc.assert(
    fc.property(fc.array(word, { maxLength: 6 }), (argv) => {
      expect(said(...argv)?.message ?? '').not.toContain('\n')
    }),
  )
})
