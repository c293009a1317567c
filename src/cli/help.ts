/** The help, made from the commands' own tables. */
import { Cli } from 'clipanion'
import { EXIT_CODES, UsageError } from '../failure.ts'
import type { CommandClass, Context } from './commands/options.ts'

const WIDTH = 80

/** The topic of the help that is no command. */
export const EXIT_CODE_TOPIC = 'exit-codes'

/** Clipanion writes `-k,--key #0`; the description begins with the name of the value, as in `<KEY>: the file`. */
function rowOf({ definition, description = '' }: { definition: string; description?: string }) {
  const [, value = '', words = ''] = /^(?:(<\w+>): )?(.*)$/s.exec(description.trim()) ?? []
  return { names: definition.replace(/ #0$/, '').split(','), value, words }
}

/** Clipanion adds it to every command. */
const HELP = { names: ['-h', '--help'], value: '', words: 'print this help' }

/** The table of each command, from which the help, the man page and the completions are made. */
export const tablesOf = (commands: readonly CommandClass[]) =>
  Cli.from([...commands], { binaryName: 'softsim' })
    .definitions()
    .map(({ path, usage: synopsis, options: all }, at) => {
      const [verbosity, version, ...own] = all.map(rowOf)
      const options = [...own, verbosity, version, HELP].filter((row) => row !== undefined)
      const name = path.replace('softsim ', '')
      return { description: '', examples: [], ...commands[at]?.usage, name, synopsis, options }
    })

export type CommandTable = ReturnType<typeof tablesOf>[number]

/** @param topic a command or `exit-codes`; without one, the help is about all of softsim. @throws {UsageError} */
export function helpOn(topic: string | undefined, { commands, version }: Context): string {
  const tables = tablesOf(commands)
  if (topic === EXIT_CODE_TOPIC) {
    const codes = Object.values(EXIT_CODES)
    return section('Exit codes', ...rows(codes.map(([code, words]) => [String(code).padStart(3), words])))
  }
  const table = tables.find(({ name }) => name === topic)
  if (table !== undefined) return commandHelp(table)
  if (topic === undefined) return overview(tables, version)
  const topics = [...tables.map(({ name }) => name), EXIT_CODE_TOPIC]
  throw new UsageError('there is no help on this topic', `the topics are ${topics.join(', ')}`)
}

const overview = (tables: readonly CommandTable[], version: string) =>
  [
    text(`softsim ${version} downloads SoftSIM profiles and hands them out, one per device`),
    section('Usage', '  softsim <command> [options]'),
    section('Commands', ...rows(tables.map(({ name, description }) => [name, description]))),
    section('More', '  softsim help <command>', `  softsim help ${EXIT_CODE_TOPIC}`),
  ].join('\n')

const commandHelp = ({ name, synopsis, description, details, examples, options }: CommandTable) =>
  [
    text(`softsim ${name}: ${description}`),
    section('Usage', `  ${synopsis} [options]`),
    section('Options', ...rows(options.map((each) => [termOf(each), each.words]))),
    ...(details?.split('\n\n').map(text) ?? []),
    // Commands are never wrapped, so that they can be copied and pasted.
    section('Examples', ...examples.flatMap(([label, command]) => [`  ${label}`, `    $ ${command}`])),
  ].join('\n')

const section = (...lines: string[]) => `${lines.join('\n')}\n`
const text = (words: string) => section(...wrap(words, WIDTH))
const termOf = ({ names, value }: ReturnType<typeof rowOf>) => `${names.join(', ')} ${value}`.trim()

function rows(table: readonly (readonly [term: string, words: string])[]): string[] {
  const left = Math.max(...table.map(([term]) => term.length))
  return table.flatMap(([term, words]) =>
    wrap(words, WIDTH - left - 4).map((line, at) => `  ${(at === 0 ? term : '').padEnd(left)}  ${line}`),
  )
}

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
