import { expect, test } from 'vitest'
import { helpOn, tablesOf, wrap } from '../../src/cli/help.ts'
import { Report } from '../../src/cli/report.ts'
import { commandsFor } from '../../src/cli/run.ts'
import { EXIT_CODES } from '../../src/failure.ts'
import { lines } from '../support/promises.ts'

const commands = await commandsFor()
const context = { commands, version: '1.2.3', report: new Report(() => {}), env: {}, umask: 0o022 }
const tables = tablesOf(commands)

test('the overview has the version and every command', () => {
  const overview = helpOn(undefined, context)
  for (const { name, description } of tables)
    expect(overview).toMatch(RegExp(`^  ${name} +${description}$`, 'm'))
  expect(overview).toContain('softsim 1.2.3 ')
  expect(overview).toContain('softsim help exit-codes')
})

test.each(tables)('the help of $name: its options and values, its examples, and 80 columns', (table) => {
  const help = helpOn(table.name, context)
  for (const { names, value } of table.options)
    expect(help).toContain(`  ${names.join(', ')} ${value}`.trimEnd())
  for (const [, command] of table.examples) expect(help).toContain(`\n    $ ${command}\n`)
  expect(table.options.map(({ names }) => names[0]).slice(-3)).toEqual(['-v', '-V', '-h'])
  for (const line of lines(help)) if (!line.startsWith('    $ ')) expect(line.length).toBeLessThanOrEqual(80)
})

test('a line is as long as the width, and a longer word has one of its own', () => {
  expect(wrap('abc def ghi abcdefgh i', 7)).toEqual(['abc def', 'ghi', 'abcdefgh', 'i'])
})

test('an option takes its value in every command, or in none', () => {
  const takes = new Map<string, Set<boolean>>()
  for (const { names, value } of tables.flatMap(({ options }) => options))
    for (const name of names) takes.set(name, new Set([...(takes.get(name) ?? []), value !== '']))
  expect([...takes].filter(([, kinds]) => kinds.size > 1)).toEqual([])
})

test('exit codes', () => {
  const codes = [...helpOn('exit-codes', context).matchAll(/^ {2,4}(\d+) {2}\S/gm)].map(([, code]) =>
    Number(code),
  )
  expect(codes).toEqual(Object.values(EXIT_CODES).map(([code]) => code))
  expect(codes).toContain(11)
})

test('another topic', () => {
  expect(() => helpOn('SECRET', context)).toThrow(/^there is no help on this topic$/)
})
