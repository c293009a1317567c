import { Option } from 'clipanion'
import { BaseCommand } from './base.ts'

export class HelpCommand extends BaseCommand {
  static override paths = [['help']]
  static override usage = {
    description: 'print the help of softsim or of one command',
    examples: [
      ['List the commands', 'softsim help'],
      ['Print the help of one command', 'softsim help next'],
    ] as [string, string][],
  }

  command = Option.String({ name: 'command', required: false })

  override async execute(): Promise<void> {
    await this.context.showHelp(this.command)
  }
}
