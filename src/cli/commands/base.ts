import { Command, Option } from 'clipanion'
import type { Report } from '../report.ts'

export interface Context {
  readonly report: Report
  readonly version: string
  readonly env: NodeJS.ProcessEnv
  /** Writes to standard output. */
  readonly print: (text: string) => Promise<void>
  /** Prints the help of one command, or of softsim if no command is given. */
  readonly showHelp: (command?: string) => Promise<void>
}

/** The options of every command. If an option takes a value, its description begins with the name of the value. */
export abstract class BaseCommand extends Command<Context & Command['context']> {
  verbosity = Option.Counter('-v,--verbosity,--verbose', 0, {
    description: 'print more: -v each step, -vv each request and file, -vvv everything except secrets',
  })

  version = Option.Boolean('-V,--version', false, { description: 'print the version' })
}
