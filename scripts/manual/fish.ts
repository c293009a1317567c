/** Completion for fish. */
import { type Command, globalOptions, type Option, topicsOf } from './table.ts'

export function fishCompletion(commands: readonly Command[]): string {
  const topics = topicsOf(commands).join(' ')
  const lines = commands.flatMap(({ name, description, options, operands }) => {
    const inside = complete(`__fish_seen_subcommand_from ${name}`)
    return [
      `${complete('__fish_use_subcommand')} -a ${name} -d ${quote(description)}`,
      ...options.map((option) => `${inside} ${spec(option)}`),
      ...(operands.length > 0 ? [`${inside} -a ${quote(topics)}`] : []),
    ]
  })
  return `# Completion of softsim for fish, made from its table of options.
complete -c softsim -f
${[...lines, ...globalOptions.map((option) => `${complete('__fish_use_subcommand')} ${spec(option)}`)].join('\n')}
`
}

const complete = (condition: string) => `complete -c softsim -n ${quote(condition)}`

function spec({ names, value, words, values }: Option): string {
  const flags = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`))
  return [...flags, ...(value === '' ? [] : [action(values)]), `-d ${quote(words)}`].join(' ')
}

function action(values: Option['values']): string {
  if (values === 'file') return '-r -F'
  if (values === 'directory') return "-x -a '(__fish_complete_directories)'"
  return values === 'none' ? '-x' : `-x -a ${quote(values.join(' '))}`
}

const quote = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`
