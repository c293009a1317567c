import { styleText } from 'node:util'
import { OUTCOMES } from '../advice/hints.ts'
import { type CommandDefinition, splitDescription } from './options.ts'

export interface Topic extends CommandDefinition {
  readonly description: string
  readonly details?: string | undefined
  readonly examples: readonly (readonly [label: string, command: string])[]
}

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

export function overview(topics: readonly Topic[], version: string, style: Style): string {
  const commands = topics.map(({ name, description }) => [name, description] as const)
  return page(style, [
    text(
      `softsim ${version}: downloads SoftSIM profiles before production and hands them out, one per device`,
    ),
    ['Usage', [indented('softsim <command> [options]', 2)]],
    ['Commands', table(commands)],
    ['Global options', table(optionRows(topics[0], true))],
    ['Examples', EXAMPLES.map((example) => indented(`$ ${example}`, 4))],
    ['More', ['<command>', EXIT_CODES].map((topic) => indented(`softsim help ${topic}`, 2))],
  ])
}

export const exitCodeHelp = (style: Style) => page(style, [['Exit codes', table(exitRows())]])

export function commandHelp(topic: Topic, style: Style): string {
  return page(style, [
    text(`softsim ${topic.name}: ${topic.description}`),
    ['Usage', [indented(`softsim ${topic.name} ${operandsOf(topic)}`, 2)]],
    ['Options', table(optionRows(topic, false))],
    ['Global options', table(optionRows(topic, true))],
    ...(topic.details ?? '').split('\n\n').map((words) => text(words)),
    text(`softsim help ${EXIT_CODES} lists the exit codes.`),
    ['Examples', topic.examples.flatMap(([label, command]) => [text(label, 2), indented(`$ ${command}`, 4)])],
  ])
}

type Line = (width: number) => string
type Section = Line | readonly [title: string, lines: readonly Line[]]

function page({ width, colour }: Style, sections: readonly Section[]): string {
  const columns = Math.min(Math.max(width, NARROWEST), WIDEST)
  const title = (name: string) => (colour ? styleText('bold', name, { validateStream: false }) : name)
  return sections
    .map((section) => {
      if (typeof section === 'function') return section(columns)
      const [name, lines] = section
      return lines.length === 0 ? '' : [title(name), ...lines.map((line) => line(columns))].join('\n')
    })
    .filter((section) => section !== '')
    .map((section) => `${section}\n`)
    .join('\n')
}

const text =
  (words: string, by = 0): Line =>
  (width) =>
    wrap(words, width - by)
      .map((line) => ' '.repeat(by) + line)
      .join('\n')

/** Commands are never wrapped, so that they can be copied and pasted. */
const indented =
  (words: string, by: number): Line =>
  () =>
    ' '.repeat(by) + words

function table(rows: readonly (readonly [string, string])[]): Line[] {
  const left = Math.max(...rows.map(([term]) => term.length))
  return rows.map(([term, meaning]) => (width) => {
    const room = width - left - 4
    if (room < NARROWEST_COLUMN) {
      return [`  ${term}`, ...wrap(meaning, width - 6).map((line) => `      ${line}`)].join('\n')
    }
    const lines = wrap(meaning, room)
    return lines.map((line, at) => `  ${(at === 0 ? term : '').padEnd(left)}  ${line}`).join('\n')
  })
}

const operandsOf = ({ operands }: Topic) =>
  operands.length === 0 ? '[options]' : operands.map((name) => `[${name}]`).join(' ')

function optionRows(topic: Topic | undefined, global: boolean): [string, string][] {
  return (topic?.options ?? [])
    .filter(({ names }) => names.some((name) => GLOBAL.includes(name)) === global)
    .map(({ names, description }) => {
      const [value, words] = splitDescription(description)
      return [`${names.join(', ')}${value.startsWith('<') ? ' ' : ''}${value}`, words]
    })
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
