import { Failure } from '../failure.ts'
import type { CommandLine } from './command-line.ts'
import type { CommandDefinition } from './options.ts'

/** Options and commands of older versions of the vendor's tool, and their replacements. */
const RENAMED = new Map([
  ['-e', 'use -u for the URL, -a for the API key and -k for the private key'],
  ['--endpoint', 'use --url'],
  ['-s', 'use -i for the directory of profiles'],
  ['--profiles', 'use --in for the directory of profiles'],
  ['decrypt', 'use next, which decrypts the profiles that it hands out'],
])

const PLAIN_OPTION = /^--[a-z][a-z-]{0,20}$/

const PLAIN_WORD = /^[a-z][a-z-]{0,15}$/

type Mistake = readonly [message: string, hint?: string | undefined]

/**
 * Messages repeat only option names and words that look like a command: any other word may be the API key.
 * @param platform the system whose quoting rules split the line into words
 */
export function mistakeIn(
  line: CommandLine,
  commands: readonly CommandDefinition[],
  platform: NodeJS.Platform = process.platform,
): Failure | undefined {
  const [first] = line.words
  const mistake =
    intoADevice(line) ??
    tornValue(line, platform) ??
    // After an unknown option, the first word may be the value of that option.
    (first === line.argv[0] ? wrongCommand(line, commands) : undefined) ??
    wrongOption(line, commands) ??
    wrongCommand(line, commands) ??
    wrongWord(line, commands)
  if (mistake === undefined) return undefined
  const [message, hint] = mistake
  const isCommand = first !== 'help' && commands.some(({ name }) => name === first)
  const help = isCommand ? `softsim help ${first}` : 'softsim help'
  return new Failure('usage', message, { hint: hint === undefined ? `see ${help}` : `${hint}; see ${help}` })
}

/** Scripts pass the output of `next` to a device. A mistake in such a script must print nothing. */
function intoADevice({ words, asksHelp, asksVersion, argv }: CommandLine): Mistake | undefined {
  if (words[0] !== 'next' || !(asksHelp || asksVersion) || argv.length === 2) return undefined
  return ['next accepts -h and -V only on their own: its standard output goes to a device']
}

/**
 * On Windows, `\"` stands for a double quote, so the next words become part of the value. No file name contains one.
 */
function tornValue({ options }: CommandLine, platform: NodeJS.Platform): Mistake | undefined {
  const torn = options.find(({ value }) => value?.includes('"'))
  if (platform !== 'win32' || torn === undefined) return undefined
  return [
    `the value of ${shown(torn.name)} contains a double quote`,
    'write "C:\\my profiles", without a backslash at the end',
  ]
}

function wrongCommand(line: CommandLine, commands: readonly CommandDefinition[]): Mistake | undefined {
  const [first] = line.words
  if (first !== undefined) {
    if (commands.some(({ name }) => name === first)) return undefined
    return PLAIN_WORD.test(first) ? [`unknown command ${first}`, RENAMED.get(first)] : ['unknown command']
  }
  const isGlobal = line.options.every(({ name }) => commands.every((command) => command.values.has(name)))
  if ((line.asksHelp || line.asksVersion) && isGlobal) return undefined
  return ['no command given', `use ${eitherOf(commands)}`]
}

/** The names of the commands, as in "fetch, next or help". */
export const eitherOf = (commands: readonly CommandDefinition[]) =>
  commands
    .map(({ name }) => name)
    .join(', ')
    .replace(/, (?=[^,]*$)/, ' or ')

function wrongOption(line: CommandLine, commands: readonly CommandDefinition[]): Mistake | undefined {
  const command = commands.find(({ name }) => name === line.words[0])
  for (const { name, value } of line.options) {
    const owner = commands.find((each) => each.values.has(name))
    if (owner === undefined) return [`unknown option ${shown(name)}`, RENAMED.get(name)]
    const takes = (command ?? owner).values.get(name)
    if (takes === undefined) return [`unknown option ${name}`, `it is an option of ${owner.name}`]
    if (takes === 'required' && value === undefined) return [`${name} needs a value`]
    if (takes === 'none' && value !== undefined) return [`${name} takes no value`]
  }
  return undefined
}

function wrongWord({ words }: CommandLine, commands: readonly CommandDefinition[]): Mistake | undefined {
  const operands = commands.find(({ name }) => name === words[0])?.operands ?? []
  if (words.length <= 1 + operands.length) return undefined
  return ['unexpected argument on the command line', 'options begin with a dash']
}

/** Returns the option name only if it can't contain a secret. */
function shown(name: string): string {
  if (!name.startsWith('--') || name === '--api-key') return name
  if (name.startsWith('--api-key')) return '--api-key…'
  return PLAIN_OPTION.test(name) ? name : '--…'
}
