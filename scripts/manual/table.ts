/** The program's one table of commands and options, as the man page and the completions need it. */

import { type CommandDefinition, definitionOf, type OptionDefinition } from '../../src/cli/command-line.ts'
import { EXIT_CODES } from '../../src/cli/help.ts'
import { COMMANDS } from '../../src/cli/run.ts'

/** What a shell can offer as the value of an option: nothing, the names of files, or these words. */
export type Values = 'none' | 'file' | 'directory' | readonly string[]

export interface Option {
  readonly names: readonly string[]
  /** As in `<KEY>` or `[=<FORMAT>]`; empty if the option takes no value. */
  readonly value: string
  /** Without a full stop at the end. */
  readonly words: string
  readonly values: Values
}

export interface Command extends Omit<CommandDefinition, 'options' | 'values'> {
  readonly options: readonly Option[]
}

export const commands: readonly Command[] = COMMANDS.map((each) => {
  const { values: _, options, ...definition } = definitionOf(each)
  return { ...definition, options: options.map(optionOf) }
})

/** What `help` takes. */
export const topicsOf = (commands: readonly Command[]) => [...commands.map(({ name }) => name), EXIT_CODES]

/** The options of every command. */
export const globalOptions = commands.find(({ name }) => name === 'help')?.options ?? []

function optionOf({ names, value, words }: OptionDefinition): Option {
  return { names, value, words, values: valuesOf(value, words) }
}

function valuesOf(value: string, words: string): Values {
  if (/<(KEY|FILE)>/.test(value)) return 'file'
  if (value === '<DIR>') return 'directory'
  if (!value.includes('<FORMAT>')) return 'none'
  const [listed = ''] = words.split(' (')
  return listed.split(/, | or /)
}
