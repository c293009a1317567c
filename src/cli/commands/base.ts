import { Command, Option } from 'clipanion'
import { Failure } from '../../failure.ts'
import type { Report } from '../report.ts'

/** What a command is given beside its options. */
export interface Context {
  readonly report: Report
  /** Of this program. */
  readonly version: string
  readonly env: NodeJS.ProcessEnv
  /** Prints the help of a command, of the whole tool where none is named. */
  readonly showHelp: (command?: string) => Promise<void>
}

/** What every command takes. The description of an option with a value begins with the value's name. */
export abstract class BaseCommand extends Command<Context & Command['context']> {
  verbosity = Option.Counter('-v,--verbosity', 0, {
    description: 'tell more: -v what it does, -vv each request and file, -vvv everything but secrets',
  })

  version = Option.Boolean('-V,--version', false, { description: 'print the version' })
}

/** The value of `--count`. @throws {Failure} `usage` */
export function parseCount(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new Failure('usage', '--count is not a whole number from 1 to 999999999', { hint: 'such as: -n 1' })
}

/** @throws {Failure} `usage` where the value of an option is empty, as that of an unset shell variable is */
export function notEmpty(option: string, value: string): string {
  if (value !== '') return value
  throw new Failure('usage', `the value of ${option} is empty`, { hint: 'is a shell variable unset?' })
}
