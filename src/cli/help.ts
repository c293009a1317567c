import { styleText } from 'node:util'
import { OUTCOMES } from '../advice/exit-codes.ts'
import type { CommandDefinition } from './command-line.ts'

interface Style {
  readonly width: number
  readonly colour: boolean
}

const NARROWEST = 40
const WIDEST = 110
/** Where less room is left beside the terms, each meaning stands below its term. */
const NARROWEST_COLUMN = 24
const EXAMPLES = [
  'softsim fetch -n 1000 -o profiles',
  'softsim next -k softsim.pem -i profiles --device SN-0042 --receipt receipt.jsonl',
]
/** The topic of the help that is no command. */
export const EXIT_CODES = 'exit-codes'
const GLOBAL = ['--verbosity', '--version', '--help']

const widthOf = ({ width }: Style) => Math.min(Math.max(width, NARROWEST), WIDEST)

export function overview(topics: readonly CommandDefinition[], version: string, style: Style): string {
  const width = widthOf(style)
  const words = 'downloads SoftSIM profiles before production and hands them out, one per device'
  const commands = topics.map(({ name, description }) => [name, description] as const)
  return page(style.colour, [
    ['', text(`softsim ${version}: ${words}`, width)],
    ['Usage', ['  softsim <command> [options]']],
    ['Commands', table(commands, width)],
    ['Global options', table(optionRows(topics[0], true), width)],
    // Commands are never wrapped, so that they can be copied and pasted.
    ['Examples', EXAMPLES.map((example) => `    $ ${example}`)],
    ['More', ['<command>', EXIT_CODES].map((topic) => `  softsim help ${topic}`)],
  ])
}

export const exitCodeHelp = (style: Style) =>
  page(style.colour, [['Exit codes', table(exitRows(), widthOf(style))]])

export function commandHelp(topic: CommandDefinition, style: Style): string {
  const width = widthOf(style)
  const { name, description, details = '', examples, operands } = topic
  return page(style.colour, [
    ['', text(`softsim ${name}: ${description}`, width)],
    ['Usage', [`  softsim ${name} ${operands.map((each) => `[${each}]`).join(' ') || '[options]'}`]],
    ['Options', table(optionRows(topic, false), width)],
    ['Global options', table(optionRows(topic, true), width)],
    ...details.split('\n\n').map((words): Section => ['', words === '' ? [] : text(words, width)]),
    ['', text(`softsim help ${EXIT_CODES} lists the exit codes.`, width)],
    ['Examples', examples.flatMap(([label, command]) => [...text(label, width, 2), `    $ ${command}`])],
  ])
}

/** Lines below a title, or without one. */
type Section = readonly [title: string, lines: readonly string[]]

function page(colour: boolean, sections: readonly Section[]): string {
  const title = (name: string) => (colour ? styleText('bold', name, { validateStream: false }) : name)
  return sections
    .filter(([, lines]) => lines.length > 0)
    .map(([name, lines]) => [...(name === '' ? [] : [title(name)]), ...lines, ''].join('\n'))
    .join('\n')
}

const text = (words: string, width: number, by = 0) =>
  wrap(words, width - by).map((line) => ' '.repeat(by) + line)

function table(rows: readonly (readonly [string, string])[], width: number): string[] {
  const left = Math.max(...rows.map(([term]) => term.length))
  const room = width - left - 4
  return rows.flatMap(([term, meaning]) =>
    room < NARROWEST_COLUMN
      ? [`  ${term}`, ...text(meaning, width, 6)]
      : wrap(meaning, room).map((line, at) => `  ${(at === 0 ? term : '').padEnd(left)}  ${line}`),
  )
}

function optionRows(topic: CommandDefinition | undefined, global: boolean): [string, string][] {
  return (topic?.options ?? [])
    .filter(({ names }) => names.some((name) => GLOBAL.includes(name)) === global)
    .map(({ names, value, words }) => [
      `${names.join(', ')}${value.startsWith('<') ? ' ' : ''}${value}`,
      words,
    ])
}

const exitRows = () =>
  Object.values(OUTCOMES).map(([code, meaning]) => [String(code).padStart(3), meaning] as const)

/** Breaks lines at blanks; a word that is longer than a line stays whole. */
export function wrap(words: string, width: number): string[] {
  const lines: string[] = []
  for (const word of words.split(' ')) {
    const line = lines.at(-1)
    if (line !== undefined && line.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}
