/** Runs one command, from its words to its exit code. */
import { Cli } from 'clipanion'
import { diskFailure, exitCode, Failure, UsageError } from '../failure.ts'
import { BaseCommand, type CommandClass, type Context, nameLike, variableOf } from './commands/options.ts'
import { Report } from './report.ts'
import { isOnScreen, isWritePending, print } from './streams.ts'

/** The version in package.json, inserted by the build. */
declare const SOFTSIM_VERSION: string | undefined

const version = typeof SOFTSIM_VERSION === 'undefined' ? 'from source' : SOFTSIM_VERSION

const report = new Report()

/** In the order in which the help lists them. What is called by its name loads no other one: `next` starts once per device. */
const COMMANDS: Readonly<Record<string, () => Promise<CommandClass>>> = {
  fetch: async () => (await import('./commands/fetch-command.ts')).FetchCommand,
  next: async () => (await import('./commands/next-command.ts')).NextCommand,
  station: async () => (await import('./commands/station-command.ts')).StationCommand,
  move: async () => (await import('./commands/move-command.ts')).MoveCommand,
  restore: async () => (await import('./commands/restore-command.ts')).RestoreCommand,
  status: async () => (await import('./commands/status-command.ts')).StatusCommand,
  help: async () => (await import('./commands/help-command.ts')).HelpCommand,
  version: async () => (await import('./commands/help-command.ts')).VersionCommand,
}

/** The command of this name, or all of them if there is none, and for the help. */
export function commandsFor(name?: string): Promise<CommandClass[]> {
  const all = Object.entries(COMMANDS)
  const named = all.filter(([each]) => each === name && each !== 'help')
  return Promise.all((named.length > 0 ? named : all).map(([, load]) => load()))
}

/**
 * @param argv without the program name
 * @param umask the user's, for the programs that are started
 * @returns the exit code
 */
export async function run(argv: readonly string[], umask: number): Promise<number> {
  report.hide(process.env['SOFTSIM_API_KEY'])
  try {
    await execute(argv, umask)
    return exitCode('done')
  } catch (error) {
    return crash(error)
  }
}

const REPORT_IT =
  'report it where you got softsim; include the line above and the output of the same command with -vvv'

/** Reports an error and returns its exit code. Whatever is no `Failure` and no error of the system is a bug. */
export function crash(error: unknown): number {
  const { path = 'a file' } = (error ?? {}) as NodeJS.ErrnoException
  const known = diskFailure(`can't use ${path}`, error)
  const what = `internal error in softsim: ${known.message}`
  const failure = known instanceof Failure ? known : new Failure('bug', what, REPORT_IT)
  report.failure(failure, error)
  // What was just said would not stay true if the reader went on now.
  if (isWritePending()) process.kill(process.pid, 'SIGINT')
  return exitCode(failure.outcome)
}

/** A variable with more letters, or a blank that cmd has left, would be passed over, such as that of the receipts. */
const MISSPELLED = /^SOFTSIM_(API_KEY|DEVICE_FORMAT|DIR|KEY_FILE|KEY_PASSPHRASE|RECEIPT|STATION|URL)./i

async function execute(argv: readonly string[], umask: number): Promise<void> {
  const context = { report, version, commands: await commandsFor(argv[0]), env: process.env, umask }
  const command = parse(argv, context)
  if (command instanceof BaseCommand && !command.version) {
    report.level = command.verbosity
    variableOf('SOFTSIM_STATION', nameLike('line-1'), context)
    for (const name of Object.keys(context.env))
      if (MISSPELLED.test(name)) report.warn(`"${name}" is no variable of softsim: check its name`)
    await command.validateAndExecute()
    return
  }
  // Clipanion stands for `-h` with a command of its own, which would print its own words.
  const [topic = argv[0]] = command.path
  if (topic === 'next' && !isOnScreen()) {
    const hint = 'softsim help next prints the help of next, and softsim --version the version'
    throw new UsageError('next prints nothing but profiles into a pipe, a file or a port', hint)
  }
  const { helpOn } = await import('./help.ts')
  await print(command instanceof BaseCommand ? `${version}\n` : helpOn(topic, context))
}

/** The command, for words that do not begin with its name. */
const alone = (command: CommandClass) =>
  class extends command {
    static override paths = []
  }

/** @throws {UsageError} whose message repeats nothing of the command line */
export function parse(argv: readonly string[], context: Context) {
  const [first, ...others] = argv
  const named = context.commands.find(({ paths }) => paths.some(([word]) => word === first))
  // Clipanion's time grows by the square of the options it knows, and those of a command with a name count twice: it is
  // a fifth of the time of a small call.
  const commands = named === undefined ? [...context.commands] : [alone(named)]
  const cli = Cli.from(commands, { binaryName: 'softsim', enableColors: false })
  const words = named === undefined ? [...argv] : others
  try {
    if (argv.length > 0) return cli.process(words, context as Context & BaseCommand['context'])
  } catch (error) {
    if (error instanceof Failure) throw error
    throw refusal(argv, context, error)
  }
  throw refusal(argv, context)
}

/** Clipanion's own message repeats the command line, which may hold the API key. This one names places and known names. */
function refusal(argv: readonly string[], { commands }: Context, error?: unknown): UsageError {
  const names = commands.flatMap(({ paths }) => paths[0] ?? [])
  const name = argv.find((word) => names.includes(word))
  if (name === undefined) {
    const what = argv[0]?.startsWith('-') === false ? 'unknown command' : 'no command given'
    return new UsageError(what, `use ${names.join(', ')}; see softsim help`)
  }
  const { candidates = [] } = error as { candidates?: readonly { reason: string | null }[] }
  const reason = candidates[0]?.reason ?? ''
  const [, option] = /^Not enough arguments to option (\S+)\.$/.exec(reason) ?? []
  if (option !== undefined)
    return new UsageError(`${option} needs a value`, `if it begins with a dash, write ${option}=VALUE`)
  const [, word = ''] = /\("(.*)"\)\.$/s.exec(reason) ?? []
  const place = `word ${argv.lastIndexOf(word) + 1} after softsim`
  const see = `see softsim help ${name}`
  if (word.startsWith('-'))
    return new UsageError(`unknown option: ${place}`, `${see}; a value is a word of its own: -n 5`)
  const hint = `${see}; options begin with -, and a value with spaces stands in quotes`
  return new UsageError(`unexpected word: ${place}`, hint)
}
