/** The program's one table of commands and options, as the man page and the completions need it. */
import { type CommandTable, EXIT_CODE_TOPIC, tablesOf } from '../../src/cli/help.ts'
import { commandsFor } from '../../src/cli/run.ts'

export type Command = CommandTable
export type Option = Command['options'][number]

export const commands: readonly Command[] = tablesOf(await commandsFor())

/** Whether a word can follow the command that is no option: a topic of the help. */
export const takesTopic = ({ synopsis }: Command) => synopsis.endsWith('[topic]')

/** What `help` takes. */
export const topicsOf = (commands: readonly Command[]) => [
  ...commands.map(({ name }) => name),
  EXIT_CODE_TOPIC,
]

/** The options of every command. */
export const globalOptions = commands.find(takesTopic)?.options ?? []

/** What a shell can offer as the value of an option: nothing, the names of files, or these words. */
export type Values = 'none' | 'file' | 'directory' | readonly string[]

export function valuesOf({ value, words }: Option): Values {
  if (/^<(KEY|FILE|PORT|PROGRAM)>$/.test(value)) return 'file'
  if (value === '<DIR>') return 'directory'
  if (value !== '<FORMAT>') return 'none'
  const [listed = ''] = words.split(' (')
  return listed.split(/, | or /)
}
