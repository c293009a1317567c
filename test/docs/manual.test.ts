import { globSync, readFileSync } from 'node:fs'
import { describe, expect, inject, test } from 'vitest'
import { draw } from '../../scripts/demo/draw.ts'
import { session } from '../../scripts/demo/session.ts'
import { OUTCOMES } from '../../src/advice/exit-codes.ts'
import { definitionOf } from '../../src/cli/command-line.ts'
import { FetchCommand } from '../../src/cli/commands/fetch-command.ts'
import { MoveCommand } from '../../src/cli/commands/move-command.ts'
import { NextCommand } from '../../src/cli/commands/next-command.ts'
import { StatusCommand } from '../../src/cli/commands/status-command.ts'
import { program } from '../support/softsim.ts'
import { blocksOf, pageAt, rowsOf, sectionOf } from './pages.ts'

const COMMAND_LINE = pageAt('src/cli/README.md')
const GLOBAL = ['-v', '--verbosity', '--verbose', '-V', '--version', '-h', '--help']
const COMMANDS = [FetchCommand, NextCommand, MoveCommand, StatusCommand].map(definitionOf)

/** The options in the tables of a page whose first column is called `option`. */
const optionsIn = (text: string) =>
  [...text.matchAll(/^\| option \|.*\n(?:\|.*\n)*/gm)]
    .flatMap(([table]) => rowsOf(table).slice(1))
    .flatMap(([names = '']) => names.match(/(?<![\w-])--?[a-zA-Z][a-z-]*/g) ?? [])

describe('options', () => {
  test.each(COMMANDS)('the page of $name has each option once, and no other', ({ name, options, values }) => {
    const found = optionsIn(pageAt(`src/${name}/README.md`))
    expect(new Set(found).size).toBe(found.length)
    const own = options.flatMap(({ names }) => names).filter((option) => !GLOBAL.includes(option))
    expect(found).toEqual(expect.arrayContaining(own))
    expect(found.filter((option) => !values.has(option))).toEqual([])
  })

  test('the page of the command line has the options of all commands', () => {
    expect(optionsIn(COMMAND_LINE)).toEqual(GLOBAL)
    for (const { values } of COMMANDS) expect([...values.keys()]).toEqual(expect.arrayContaining(GLOBAL))
  })
})

describe('exit codes', () => {
  const codes = Object.values(OUTCOMES)

  test('the table is the one of the help', () => {
    const [, ...rows] = rowsOf(sectionOf(COMMAND_LINE, '## Exit codes'))
    expect(rows).toEqual(codes.map(([code, meaning]) => [String(code), meaning]))
  })

  test('troubleshooting has a section for each failure', () => {
    const sections = pageAt('src/cli/troubleshooting.md').matchAll(/^## (\d+): /gm)
    const actual = [...sections].map(([, code]) => Number(code))
    expect(actual).toEqual(codes.map(([code]) => code).filter((code) => code !== 0))
  })
})

test('the table of environment variables has those of the source, and no other', () => {
  const sources = globSync('src/**/*.ts')
    .map((path) => readFileSync(path, 'utf8'))
    .join('\n')
  const read = [...sources.matchAll(/\benv(?:\['|: ')([A-Z_]+)'/g)].map(([, name = '']) => name)
  const cells = rowsOf(sectionOf(COMMAND_LINE, '## Environment variables')).slice(1)
  const found = cells.flatMap(([names = '']) => names.match(/[A-Z_]{3,}/g) ?? [])
  expect(found).toEqual(expect.arrayContaining(read))
  // The libraries read the others: undici the proxies, and Node the certificates.
  expect(found.filter((name) => !sources.includes(name))).toEqual([])
})

test('the example of the hex format is split into its records', () => {
  const text = pageAt('src/profile/README.md')
  const line = blocksOf(text)
    .find(({ language }) => language === 'text')
    ?.text.trim()
  const records = rowsOf(sectionOf(text, '## `hex`: the input for a device programmer')).slice(1)
  expect(records.map((cells) => cells.at(-1)?.replaceAll('`', '')).join('')).toBe(line)
})

test('the README has at most 150 lines', () => {
  expect(pageAt('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(150)
})

test('the picture in the README shows what the program prints (npm run picture makes it)', async () => {
  const steps = await session(program(), inject('keys'))
  expect(draw(steps)).toBe(readFileSync('.github/session.svg', 'utf8'))
})

/** A failure or a warning: perhaps its kind or its facts, then its text where it stands in the source. */
const MESSAGE =
  /(?:new (?:Failure|CallFailure|Shortage|UsageError)|failure|warn)\(\s*(?:(?:'[a-z-]+'|\{[^}]*\}|\w+),\s*)?(?:'((?:[^'\\]|\\.)*)'|"([^"]*)"|`([^`]*)`)/g

const messages = [
  ...Object.values(OUTCOMES).flatMap(([, , hints]) =>
    Object.values<object | string>(hints).flatMap((hint) =>
      typeof hint === 'object' && 'message' in hint ? String(hint.message) : [],
    ),
  ),
  ...globSync('src/**/*.ts').flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(MESSAGE)]
      .map(([, single, double, template]) => single ?? double ?? template ?? '')
      .map((text) => text.replaceAll(/\$\{[^}]*\}/g, '…').replaceAll("\\'", "'"))
      .filter((text) => / [a-z]{2}/.test(text)),
  ),
]

/** The first column: parts of messages, with `…` for anything. */
const symptoms = rowsOf(pageAt('src/cli/troubleshooting.md'))
  .flatMap(([first = '']) => first.replaceAll('`', '').split('; '))
  .map((part) => part.split('…'))

/** Whether a text has all parts, in this order. */
function has(text: string, [first, ...others]: readonly string[]): boolean {
  if (first === undefined) return true
  const at = text.indexOf(first)
  return at >= 0 && has(text.slice(at + first.length), others)
}

test('troubleshooting has every message of the source', () => {
  expect(messages.length).toBeGreaterThan(80)
  expect(messages.filter((text) => !symptoms.some((parts) => has(text, parts)))).toEqual([])
})
