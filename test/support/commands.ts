import { Cli } from 'clipanion'
import { definitionOf } from '../../src/cli/command-line.ts'
import { COMMANDS } from '../../src/cli/run.ts'

/** What the program's own table says of them. */
export const DEFINITIONS = COMMANDS.map(definitionOf)

/** The command that Clipanion, asked for all of them at once, makes of a line; undefined where it refuses it. */
export function commandByClipanion(argv: readonly string[], commands = COMMANDS): object | undefined {
  const cli = Cli.from(commands, { binaryName: 'softsim' })
  try {
    return cli.process([...argv], {} as Parameters<typeof cli.process>[1])
  } catch (error) {
    if (error instanceof Error && 'clipanion' in error) return undefined
    throw error
  }
}

/** The name of that command. */
export function nameByClipanion(argv: readonly string[]): string | undefined {
  const command = commandByClipanion(argv)
  return COMMANDS.find((each) => command instanceof each)?.paths[0]?.[0]
}
