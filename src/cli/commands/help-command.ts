import { Option } from 'clipanion'
import { BaseCommand } from './base.ts'

export class HelpCommand extends BaseCommand {
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
