import { Option } from 'clipanion'
import { BaseCommand } from './base.ts'
import { FetchCommand } from './fetch-command.ts'
import { MoveCommand } from './move-command.ts'
import { NextCommand } from './next-command.ts'
import { RestoreCommand } from './restore-command.ts'
import { StatusCommand } from './status-command.ts'

class HelpCommand extends BaseCommand {
  static override paths = [['help']]
  static override usage = {
    description: 'print the help of softsim, of one command, or of its exit codes',
    examples: [
      ['List the commands', 'softsim help'],
      ['Print the help of one command', 'softsim help next'],
      ['List the exit codes', 'softsim help exit-codes'],
    ] as [string, string][],
  }

  command = Option.String({ name: 'command', required: false })

  override async execute(): Promise<void> {
    await this.context.showHelp(this.command)
  }
}

/** In the order in which the help lists them. */
export const COMMANDS = [FetchCommand, NextCommand, MoveCommand, RestoreCommand, StatusCommand, HelpCommand]
