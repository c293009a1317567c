import { Cli } from 'clipanion'
import { FetchCommand } from '../../src/cli/commands/fetch.ts'
import { HelpCommand } from '../../src/cli/commands/help.ts'
import { NextCommand } from '../../src/cli/commands/next.ts'
import { definitionOf } from '../../src/cli/options.ts'

export const COMMANDS = [FetchCommand, NextCommand, HelpCommand]

/** What the program's own table says of them. */
export const DEFINITIONS = COMMANDS.map(definitionOf)

/** The name of the command that Clipanion, asked for all of them at once, finds in a line; undefined where it refuses it. */
export function commandByClipanion(argv: readonly string[]): string | undefined {
  const cli = Cli.from(COMMANDS, { binaryName: 'softsim' })
  try {
    const command = cli.process([...argv], {} as Parameters<typeof cli.process>[1])
    return COMMANDS.find((each) => command instanceof each)?.paths[0]?.[0]
  } catch (error) {
    if (error instanceof Error && 'clipanion' in error) return undefined
    throw error
  }
}
