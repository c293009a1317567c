import { Cli } from 'clipanion'
import { normalize } from './argv.ts'
import type { BaseCommand } from './commands/base.ts'
import { FetchCommand } from './commands/fetch.ts'
import { HelpCommand } from './commands/help.ts'
import { NextCommand } from './commands/next.ts'
import { exitCode, Failure } from './errors.ts'
import { writeOutput } from './output.ts'
import { Report } from './report.ts'
import { syntaxFailure } from './syntax.ts'
import { VERSION } from './version.ts'

const COMMANDS = [FetchCommand, NextCommand, HelpCommand]

/**
 * Runs one command line.
 * @param argv without the program's own name
 * @returns the exit code
 */
export async function run(argv: readonly string[]): Promise<number> {
  const report = new Report()
  report.hide(process.env['SOFTSIM_API_KEY'])
  report.hide(process.env['SOFTSIM_KEY_PASSPHRASE'])
  try {
    await execute(normalize(argv), report)
    return exitCode('done')
  } catch (error) {
    report.failure(error)
    return exitCode(error instanceof Failure ? error.outcome : 'bug')
  }
}

async function execute(argv: string[], report: Report): Promise<void> {
  const cli = Cli.from(COMMANDS, { binaryName: 'softsim', enableColors: false })
  const showHelp = (command?: string) => printHelp(cli, command)
  if (argv.includes('-h') || argv.includes('--help')) return showHelp(argv.find(isCommand))
  if (argv.includes('-V') || argv.includes('--version')) return writeOutput(`${VERSION}\n`)
  const command = parse(cli, argv, { report, env: process.env, showHelp })
  report.level = command.verbosity
  await command.validateAndExecute()
}

function parse(
  cli: Cli<BaseCommand['context']>,
  argv: string[],
  context: Partial<BaseCommand['context']>,
): BaseCommand {
  if (argv.length === 0)
    throw new Failure('usage', 'a command is missing: fetch, next or help', { hint: 'softsim help' })
  try {
    return cli.process(argv, context as BaseCommand['context']) as BaseCommand
  } catch (error) {
    throw syntaxFailure(error, argv, COMMANDS.map(nameOf))
  }
}

const nameOf = ({ paths }: (typeof COMMANDS)[number]) => paths[0]?.[0] ?? ''

const isCommand = (word: string) => COMMANDS.some((command) => nameOf(command) === word)

/** The help is asked for, so it is what standard output is for. */
async function printHelp(cli: Cli<BaseCommand['context']>, command?: string): Promise<void> {
  const { isatty } = await import('node:tty')
  const { commandHelp, overview } = await import('./help.ts')
  const isTerminal = isatty(1)
  const style = {
    width: (isTerminal && process.stdout.columns) || 80,
    colour: isTerminal && !process.env['NO_COLOR'],
  }
  const definitions = cli.definitions()
  const topics = COMMANDS.map((each, at) => ({
    name: nameOf(each),
    ...each.usage,
    options: definitions[at]?.options ?? [],
  }))
  if (command === undefined) return writeOutput(overview(topics, VERSION, style))
  const topic = topics.find(({ name }) => name === command)
  if (topic === undefined) {
    throw new Failure('usage', 'there is no such command', {
      hint: 'softsim help lists them: fetch, next and help',
    })
  }
  return writeOutput(commandHelp(topic, style))
}
