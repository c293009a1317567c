import { Option } from 'clipanion'
import { BaseCommand } from './base.ts'

export class HelpCommand extends BaseCommand {
  static override paths = [['help']]
  static override usage = {
    description: 'explain softsim, or one of its commands',
    examples: [
      ['What there is', 'softsim help'],
      ['All there is to say about one command', 'softsim help next'],
    ] as [string, string][],
  }

  command = Option.String({ name: 'command', required: false })

  override async execute(): Promise<void> {
    await this.context.showHelp(this.command)
  }
}
