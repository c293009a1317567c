import { globSync, readFileSync } from 'node:fs'
import { describe, expect, inject, test } from 'vitest'
import { draw } from '../../scripts/demo/draw.ts'
import { session } from '../../scripts/demo/session.ts'
import { tablesOf } from '../../src/cli/help.ts'
import { commandsFor } from '../../src/cli/run.ts'
import { EXIT_CODES } from '../../src/failure.ts'
import { program } from '../support/softsim.ts'
import { blocksOf, PAGES, pageAt, rowsOf, sectionOf } from './pages.ts'

const COMMAND_LINE = pageAt('src/cli/README.md')
const TROUBLESHOOTING = pageAt('src/cli/troubleshooting.md')
const GLOBAL = ['-v', '--verbosity', '--verbose', '-V', '--version', '-h', '--help']

/** The page of each command that has options of its own. */
const PAGE_OF: Record<string, string> = {
  ...Object.fromEntries(
    ['fetch', 'next', 'move', 'restore', 'status'].map((name) => [name, `src/${name}/README.md`]),
  ),
  station: 'scripts/stations/README.md',
}

/** The options in the tables of a page whose first column is called `option`. */
const optionsIn = (text: string) =>
  [...text.matchAll(/^\| option \|.*\n(?:\|.*\n)*/gm)]
    .flatMap(([table]) => rowsOf(table).slice(1))
    .flatMap(([names = '']) => names.match(/(?<![\w-])--?[a-zA-Z][a-z-]*/g) ?? [])

const SOURCES = globSync('src/**/*.ts').map((path) => readFileSync(path, 'utf8'))

const allTables = tablesOf(await commandsFor())

describe('options', () => {
  const tables = allTables.filter(({ name }) => name in PAGE_OF)

  test('each command has a page', () => {
    expect(tables.map(({ name }) => name).sort()).toEqual(Object.keys(PAGE_OF).sort())
  })

  test.each(tables)('the page of $name has each option once, and no other', ({ name, options }) => {
    const own = options.flatMap(({ names }) => names).filter((option) => !GLOBAL.includes(option))
    expect(optionsIn(pageAt(PAGE_OF[name] ?? '')).sort()).toEqual(own.sort())
  })

  test('the page of the command line has the options of all commands', () => {
    expect(optionsIn(COMMAND_LINE)).toEqual(GLOBAL)
  })
})

describe('exit codes', () => {
  const codes = Object.values(EXIT_CODES)

  test('the table is the one of the help', () => {
    const [, ...rows] = rowsOf(sectionOf(COMMAND_LINE, '## Exit codes'))
    expect(rows).toEqual(codes.map(([code, meaning]) => [String(code), meaning]))
  })

  test('troubleshooting has a section for each failure', () => {
    const actual = [...TROUBLESHOOTING.matchAll(/^## (\d+): /gm)].map(([, code]) => Number(code))
    expect(actual).toEqual(codes.map(([code]) => code).filter((code) => code !== 0))
  })
})

test('troubleshooting quotes only what the program says', () => {
  const quoted = rowsOf(TROUBLESHOOTING)
    .filter(([first = '']) => /^`[^`]+`(; `[^`]+`)*$/.test(first))
    .flatMap(([first = '']) => first.split('; ').map((part) => part.replaceAll('`', '')))
  expect(quoted.length).toBeGreaterThan(30)
  const said = SOURCES.join('\n').replaceAll("\\'", "'")
  expect(quoted.filter((text) => !said.includes(text))).toEqual([])
})

test('the table of environment variables has those of the source, and no other', () => {
  const sources = SOURCES.join('\n')
  const read = [...sources.matchAll(/\benv\['([A-Z_]+)'\]|'(SOFTSIM_[A-Z_]+)'/g)].map(
    ([, one, another]) => one ?? another,
  )
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

const countOf = (text: string) => text.split(/\s+/).filter(Boolean).length

/** What a program prints is not counted. */
const wordsIn = (text: string) =>
  blocksOf(text)
    .filter(({ language }) => ['', 'text'].includes(language))
    .reduce((count, block) => count - countOf(block.text), countOf(text))

test('the manual stays short', () => {
  expect(pageAt('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(150)
  expect(wordsIn(pageAt('CHANGELOG.md'))).toBeLessThanOrEqual(300)
  expect(wordsIn(TROUBLESHOOTING)).toBeLessThanOrEqual(1300)
  expect(PAGES.reduce((count, { text }) => count + wordsIn(text), 0)).toBeLessThanOrEqual(11_500)
})

test('the picture in the README shows what the program prints (npm run picture makes it)', async () => {
  const steps = await session(program(), inject('keys'))
  expect(draw(steps)).toBe(readFileSync('.github/session.svg', 'utf8'))
})
