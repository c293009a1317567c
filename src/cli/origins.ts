import type { Advice } from '../advice/advice.ts'
import type { CommandLine } from './command-line.ts'
import type { CommandDefinition } from './options.ts'

/** How the description of an option names the variable that stands for it. */
const VARIABLE = /default: (SOFTSIM_[A-Z_]+)/

/** A failure that names an option which nobody has typed says from which variable its value is. */
export function originHints(
  { message, hint }: Advice,
  { words, options }: CommandLine,
  commands: readonly CommandDefinition[],
  env: NodeJS.ProcessEnv,
): string[] {
  // A complete command has all of its options.
  if (/softsim \w+ -/.test(hint)) return []
  const said = `${message} ${hint}`.split(/[\s,:;?]+/)
  const command = commands.find(({ name }) => name === words[0])
  return (command?.options ?? []).flatMap(({ names, description }) => {
    const [, variable = ''] = VARIABLE.exec(description) ?? []
    const isGiven = options.some(({ option }) => names.includes(option))
    const isSaid = names.some((name) => said.includes(name))
    return isSaid && !isGiven && env[variable]
      ? [`the environment variable ${variable} sets ${names[0]}`]
      : []
  })
}
