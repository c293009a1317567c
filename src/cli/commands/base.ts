import { Command, Option } from 'clipanion'
import { Failure } from '../../failure.ts'
import { oddEnd } from '../../words.ts'
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

/** Parses the value of `--count`. @throws {Failure} `usage` */
export function parseCount(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  const end = oddEnd(text)
  throw new Failure('usage', 'the value of -n (--count) is not a whole number from 1 to 999999999', {
    hint: end === undefined ? 'for example: -n 100' : `the value ${end}`,
  })
}

/** An option value can be empty because a shell variable is unset. @throws {Failure} `usage` */
export function notEmpty(option: string, value: string): string {
  if (value !== '') return value
  throw new Failure('usage', `the value of ${option} is empty`, {
    hint: 'give a value; if it is a shell variable, the variable is not set',
  })
}

/** Parses the value of `--receipt`. @throws {Failure} `usage` */
export function checkReceipt(path: string): string {
  const end = oddEnd(path)
  if (end !== undefined)
    throw new Failure('usage', `the name of the receipt ${end}`, {
      hint: 'for example: --receipt receipt.jsonl',
    })
  if (path !== '-') return notEmpty('--receipt', path)
  throw new Failure('usage', '--receipt names a file: standard output is for the device', {
    hint: 'such as: --receipt receipt.jsonl',
  })
}
