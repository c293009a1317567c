import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { OUTCOMES } from '../../src/advice/exit-codes.ts'
import { type CommandDefinition, definitionOf } from '../../src/cli/command-line.ts'
import { commandHelp, exitCodeHelp, overview } from '../../src/cli/help.ts'
import { COMMANDS } from '../../src/cli/run.ts'
import { lines } from '../support/promises.ts'

const topics = COMMANDS.map(definitionOf)
const PLAIN = { width: 80, colour: false }
const [fetchHelp = '', nextHelp = ''] = topics.map((topic) => commandHelp(topic, PLAIN))
const overviewHelp = overview(topics, '1.2.3', PLAIN)

const isToBePasted = (line: string) => line.startsWith('    $ ')

test('the overview shows the version, the commands, the global options and the command for more help', () => {
  expect(overviewHelp).toContain('softsim 1.2.3')
  for (const { name, description } of topics)
    expect(overviewHelp).toContain(`  ${name.padEnd(7)}  ${description}`)
  expect(overviewHelp).toContain('-h, --help')
  expect(overviewHelp).toContain('softsim help <command>')
})

test('the help of a command has the global options, the defaults and the environment', () => {
  for (const text of ['https://api.onomondo.com/sims/profiles', 'SOFTSIM_API_KEY'])
    expect(fetchHelp).toContain(text)
  for (const text of ['--format[=<FORMAT>]', 'SOFTSIM_KEY_PASSPHRASE']) expect(nextHelp).toContain(text)
  for (const option of ['-v, --verbosity, --verbose', '-V, --version', '-h, --help'])
    expect(
      [fetchHelp, nextHelp].every((help) => help.includes(option)),
      option,
    ).toBe(true)
})

test('what is on by default has no option, and is accepted', () => {
  const { options, values } = topics[1] as CommandDefinition
  expect(nextHelp).not.toMatch(/ --(crc|smsc)\b/)
  expect(options.flatMap(({ names }) => names)).not.toContain('--crc')
  expect(values.get('--crc')).toBe('none')
})

test('the exit codes are a page of their own, and every other page says where they are', () => {
  const codesIn = (help: string) => [...help.matchAll(/^ {2,4}(\d+) {2}\S/gm)].map(([, code]) => Number(code))
  expect(codesIn(exitCodeHelp(PLAIN))).toEqual(Object.values(OUTCOMES).map(([code]) => code))
  for (const help of [overviewHelp, fetchHelp, nextHelp]) {
    expect(codesIn(help)).toEqual([])
    expect(help).toContain('softsim help exit-codes')
  }
})

test('the help of a command fits into a screen or two: the options first, and not more than 45 lines', () => {
  for (const topic of topics) {
    const help = commandHelp(topic, PLAIN)
    expect(lines(help).length, topic.name).toBeLessThanOrEqual(45)
    const first = lines(help).slice(0, 30).join('\n')
    for (const { names } of topic.options) expect(first).toContain(`\n  ${names.join(', ')}`)
  }
})

test('the examples are at the end, each on one line', () => {
  for (const help of [fetchHelp, nextHelp]) {
    const pasted = lines(help.slice(help.indexOf('\nExamples\n'))).filter(isToBePasted)
    expect(pasted.length).toBeGreaterThanOrEqual(2)
    expect(lines(help).at(-1)).toBe(pasted.at(-1))
    for (const line of pasted) expect(line).toMatch(/\bsoftsim (fetch|next)\b/)
  }
})

test('at any width, no word is lost, and from 40 columns on, no line but commands and long words is wider', () => {
  const words = (text: string) => text.split(/\s+/).sort()
  fc.assert(
    fc.property(fc.constantFrom(...topics), fc.integer({ min: 0, max: 300 }), (topic, width) => {
      const help = commandHelp(topic, { width, colour: false })
      expect(words(help)).toEqual(words(commandHelp(topic, PLAIN)))
      for (const line of lines(overview(topics, '1.2.3', { width, colour: false }) + help)) {
        const canBeWrapped = width >= 40 && !isToBePasted(line) && line.trim().includes(' ')
        if (canBeWrapped) expect(line.length, line).toBeLessThanOrEqual(width)
      }
    }),
  )
})

test('at 40 columns, each meaning stands below its option', () => {
  const narrow = commandHelp(topics[0] as CommandDefinition, { width: 40, colour: false })
  expect(narrow).toContain('\n  -n, --count <N>\n      how many profiles to fetch\n      (default: 1)\n')
})

test('colour does not change the text', () => {
  const coloured = commandHelp(topics[1] as CommandDefinition, { ...PLAIN, colour: true })
  expect(coloured).not.toBe(nextHelp)
  expect(stripVTControlCharacters(coloured)).toBe(nextHelp)
})
