import type { Advice } from '../../advice/advice.ts'
import type { CommandLine } from '../command-line.ts'
import type { CommandDefinition } from '../options.ts'

/** How the description of an option names the variable that stands for it. */
const VARIABLE = /default: (SOFTSIM_[A-Z_]+)/

/** An option whose value is from the environment. */
export interface Origin {
  readonly names: readonly string[]
  readonly variable: string
}

/** The options that are not given on the line, and whose variables are set. */
export function originsOf(
  { words, options }: CommandLine,
  commands: readonly CommandDefinition[],
  env: NodeJS.ProcessEnv,
): Origin[] {
  const command = commands.find(({ name }) => name === words[0])
  return (command?.options ?? []).flatMap(({ names, description }) => {
    const [, variable = ''] = VARIABLE.exec(description) ?? []
    const isGiven = options.some(({ option }) => names.includes(option))
    return isGiven || !env[variable] ? [] : [{ names, variable }]
  })
}

/** A failure that names an option which nobody has typed says where its value is from. */
export function originHints({ message, hint }: Advice, origins: readonly Origin[]): string[] {
  // A complete command has all of its options.
  if (/softsim \w+ -/.test(hint)) return []
  const words = `${message} ${hint}`.split(/[\s,:;?]+/)
  return origins
    .filter(({ names }) => names.some((name) => words.includes(name)))
    .map(({ names, variable }) => `${names[0]} has its value from ${variable}`)
}
