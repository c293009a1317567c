import { Command, Option } from 'clipanion'
import { oddEnd } from '../../words.ts'
import { UsageError } from '../advice/usage.ts'
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
  verbosity = Option.Counter('-v,--verbosity', 0, {
    description: 'print more: -v each step, -vv each request and file, -vvv everything except secrets',
  })

  version = Option.Boolean('-V,--version', false, { description: 'print the version' })
}

/** Parses the value of `--count`. @throws {UsageError} */
export function parseCount(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  const end = oddEnd(text)
  throw new UsageError(
    'the value of -n (--count) is not a whole number from 1 to 999999999',
    end === undefined ? 'for example: -n 100' : `the value ${end}`,
  )
}

/** An option value can be empty because a shell variable is unset. @throws {UsageError} */
export function notEmpty(option: string, value: string): string {
  if (value !== '') return value
  throw new UsageError(
    `the value of ${option} is empty`,
    'give a value; if it is a shell variable, the variable is not set',
  )
}
