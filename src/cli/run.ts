import { Cli, Option } from 'clipanion'
import { type Advice, adviceOn, UsageError } from '../advice/advice.ts'
import { exitCode } from '../advice/exit-codes.ts'
import { Failure, reasonOf } from '../failure.ts'
import { isWritePending, writeOutput } from '../next/standard-output.ts'
import { type CommandDefinition, type CommandLine, definitionOf, readArgv, withOnly } from './command-line.ts'
import { BaseCommand, type Context } from './commands/base.ts'
import { FetchCommand } from './commands/fetch-command.ts'
import { MoveCommand } from './commands/move-command.ts'
import { NextCommand } from './commands/next-command.ts'
import { RestoreCommand } from './commands/restore-command.ts'
import { StatusCommand } from './commands/status-command.ts'
import { Report } from './report.ts'
import { isConsole } from './terminal/streams.ts'
import { eitherOf, mistakeIn, nearest, unknownCommand } from './usage-errors.ts'

/** The version in package.json, inserted by the build. */
declare const SOFTSIM_VERSION: string

const report = new Report()

/** What else helps against a failure of this call. */
let moreHints: (advice: Advice) => string[] = () => []

/**
 * @param argv without the program name
 * @returns the exit code
 */
export async function run(argv: readonly string[]): Promise<number> {
  report.hide(process.env['SOFTSIM_API_KEY'])
  try {
    await execute(argv)
    return exitCode('done')
  } catch (error) {
    return crash(error)
  }
}

/** Reports an error and returns its exit code. */
export function crash(error: unknown): number {
  const advice = adviceOn(error)
  report.failure({ ...advice, hint: [advice.hint, ...moreHints(advice)].join('\n') }, error)
  // What was just said would not stay true if the reader went on now.
  if (isWritePending()) process.kill(process.pid, 'SIGINT')
  return exitCode(advice.outcome)
}

async function execute(typed: readonly string[]): Promise<void> {
  const definitions = COMMANDS.map(definitionOf)
  const line = readArgv(typed, definitions)
  const mistake = mistakeIn(line, definitions)
  if (mistake !== undefined) throw mistake
  if (line.asksHelp) return printHelp(line.words[0])
  if (line.asksVersion) return print(`${SOFTSIM_VERSION}\n`)
  const command = parse(line, { report, version: SOFTSIM_VERSION, showHelp: printHelp, print })
  report.level = command.verbosity
  moreHints = (advice) => originHints(advice, line, definitions)
  await command.validateAndExecute()
}

function parse({ words: [name], options, argv }: CommandLine, context: Context): BaseCommand {
  const given = options.map(({ option }) => option)
  const own = COMMANDS.filter(({ paths }) => paths[0]?.[0] === name)
  const cli = Cli.from(
    own.map((command) => withOnly(given, command)),
    { binaryName: 'softsim', enableColors: false },
  )
  try {
    return cli.process([...argv], context as BaseCommand['context']) as BaseCommand
  } catch {
    // Clipanion's error repeats the command line, including the API key.
    throw new UsageError(`can't parse the options of ${name}`, 'see softsim help')
  }
}

/** How the description of an option names the variable that stands for it. */
const VARIABLE = /default: (SOFTSIM_[A-Z_]+)/

/** A failure that names an option which nobody has typed says from which variable its value is. */
function originHints(
  { message, hint }: Advice,
  { words, options }: CommandLine,
  commands: readonly CommandDefinition[],
): string[] {
  // A complete command has all of its options.
  if (/softsim \w+ -/.test(hint)) return []
  const said = `${message} ${hint}`.split(/[\s,:;?]+/)
  const command = commands.find(({ name }) => name === words[0])
  return (command?.options ?? []).flatMap(({ names, words: use }) => {
    const [, variable = ''] = VARIABLE.exec(use) ?? []
    const isGiven = options.some(({ option }) => names.includes(option))
    const isSaid = names.some((name) => said.includes(name))
    return isSaid && !isGiven && process.env[variable]
      ? [`the environment variable ${variable} sets ${names[0]}`]
      : []
  })
}

/** @throws {Failure} `disk` */
async function print(text: string): Promise<void> {
  try {
    if (isConsole(1)) await new Promise((resolve) => process.stdout.write(text, resolve))
    else await writeOutput(text)
  } catch (error) {
    throw new Failure('no-reader', `can't write to standard output: ${reasonOf(error)}`, error)
  }
}

async function printHelp(command?: string): Promise<void> {
  const { isatty } = await import('node:tty')
  const { hasColour } = await import('./terminal/streams.ts')
  const { commandHelp, EXIT_CODES, exitCodeHelp, overview } = await import('./help.ts')
  const isTerminal = isatty(1)
  const style = {
    width: (isTerminal && process.stdout.columns) || 80,
    colour: isTerminal && hasColour(),
  }
  const topics = COMMANDS.map(definitionOf)
  if (command === undefined) return print(overview(topics, SOFTSIM_VERSION, style))
  if (command === EXIT_CODES) return print(exitCodeHelp(style))
  const topic = topics.find(({ name }) => name === command)
  if (topic === undefined) {
    const meant = nearest(command, [...topics.map(({ name }) => name), EXIT_CODES])
    throw new UsageError(
      unknownCommand(command),
      meant === undefined
        ? `use ${eitherOf(topics)}; see softsim help`
        : `did you mean softsim help ${meant}?`,
    )
  }
  return print(commandHelp(topic, style))
}

class HelpCommand extends BaseCommand {
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

/** In the order in which the help lists them. */
export const COMMANDS = [FetchCommand, NextCommand, MoveCommand, RestoreCommand, StatusCommand, HelpCommand]
