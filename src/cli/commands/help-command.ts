/** `softsim help` and `softsim version`. */
import { Option } from 'clipanion'
import { helpOn } from '../help.ts'
import { print } from '../streams.ts'
import { BaseCommand } from './options.ts'

export class HelpCommand extends BaseCommand {
  static override paths = [['help'], ['-h'], ['--help']]
  static override usage = {
    description: 'print the help of softsim, of one command, or of its exit codes',
    examples: [
      ['Print the help of one command', 'softsim help next'],
      ['List the exit codes', 'softsim help exit-codes'],
    ] as [string, string][],
  }

  topic = Option.String({ name: 'topic', required: false })

  override async execute(): Promise<void> {
    await print(helpOn(this.topic, this.context))
  }
}

export class VersionCommand extends BaseCommand {
  static override paths = [['version'], ['-V'], ['--version']]
  static override usage = {
    description: 'print the version',
    examples: [['Print the version', 'softsim --version']] as [string, string][],
  }

  override async execute(): Promise<void> {
    await print(`${this.context.version}\n`)
  }
}
