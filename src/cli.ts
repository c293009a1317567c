import { Cli } from 'clipanion'
import { normalize } from './argv.ts'
import { BaseCommand, type Context } from './commands/base.ts'
import { FetchCommand } from './commands/fetch.ts'
import { HelpCommand } from './commands/help.ts'
import { NextCommand } from './commands/next.ts'
import { exitCode, Failure, reasonOf } from './errors.ts'
import { writeOutput } from './output.ts'
import { Report } from './report.ts'
import { syntaxFailure } from './syntax.ts'
import { VERSION } from './version.ts'

const COMMANDS = [FetchCommand, NextCommand, HelpCommand]

const report = new Report()

/**
 * Runs one command line.
 * @param argv without the program's own name
 * @returns the exit code
 */
export async function run(argv: readonly string[]): Promise<number> {
  report.hide(process.env['SOFTSIM_API_KEY'])
  try {
    await execute(normalize(argv))
    return exitCode('done')
  } catch (error) {
    return crash(error)
  }
}

/** Tells what was thrown, and returns the exit code for it. */
export function crash(error: unknown): number {
  report.failure(error)
  return exitCode(error instanceof Failure ? error.outcome : 'bug')
}

async function execute(argv: string[]): Promise<void> {
  const asksHelp = asksFor('--help', 'h', argv)
  if (asksHelp || asksFor('--version', 'V', argv)) {
    const name = argv.find(isCommand)
    if (name === 'next' && argv.length > 2) throw notIntoADevice()
    return asksHelp ? printHelp(name) : print(`${VERSION}\n`)
  }
  const command = parse(argv, { report, env: process.env, showHelp: printHelp })
  report.level = command.verbosity
  await command.validateAndExecute()
}

const asksFor = (option: string, letter: string, argv: readonly string[]) =>
  argv.some((word) => word === option || (/^-[vVh]+$/.test(word) && word.includes(letter)))

/** A script that calls `next` gives what is printed to a device: a slip of the pen in it must print nothing. */
const notIntoADevice = () =>
  new Failure('usage', 'next takes -h and -V alone: its standard output goes into devices', {
    hint: 'softsim help next, or softsim -V',
  })

const cliOf = (commands: typeof COMMANDS) =>
  Cli.from(commands, { binaryName: 'softsim', enableColors: false })

function parse(argv: string[], context: Context): BaseCommand {
  const hint = 'softsim help'
  if (argv.length === 0) throw new Failure('usage', 'a command is missing: fetch, next or help', { hint })
  // Preparing a command's options takes Clipanion as long as decrypting a profile: those of the others are spared.
  const named = COMMANDS.filter((command) => argv.includes(nameOf(command)))
  try {
    const cli = cliOf(named.length > 0 ? named : COMMANDS)
    const command = cli.process(argv, context as BaseCommand['context'])
    if (command instanceof BaseCommand) return command
    throw new Failure('usage', '-h and --help take no value', { hint })
  } catch (error) {
    throw syntaxFailure(error, argv, COMMANDS.map(nameOf))
  }
}

const nameOf = ({ paths }: (typeof COMMANDS)[number]) => paths[0]?.[0] ?? ''

const isCommand = (word: string) => COMMANDS.some((command) => nameOf(command) === word)

/** @throws {Failure} `disk` */
async function print(text: string): Promise<void> {
  try {
    await writeOutput(text)
  } catch (error) {
    throw new Failure('disk', `can't print: ${reasonOf(error)}`, { cause: error })
  }
}

/** The help is asked for, so it is what standard output is for. */
async function printHelp(command?: string): Promise<void> {
  const { isatty } = await import('node:tty')
  const { commandHelp, overview } = await import('./help.ts')
  const isTerminal = isatty(1)
  const style = {
    width: (isTerminal && process.stdout.columns) || 80,
    colour: isTerminal && !process.env['NO_COLOR'],
  }
  const definitions = cliOf(COMMANDS).definitions()
  const topics = COMMANDS.map((each, at) => ({
    name: nameOf(each),
    ...each.usage,
    options: definitions[at]?.options ?? [],
  }))
  if (command === undefined) return print(overview(topics, VERSION, style))
  const topic = topics.find(({ name }) => name === command)
  if (topic === undefined) {
    throw new Failure('usage', 'there is no such command', {
      hint: 'softsim help lists them: fetch, next and help',
    })
  }
  return print(commandHelp(topic, style))
}
