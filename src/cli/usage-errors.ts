import { Failure } from '../failure.ts'
import type { CommandLine } from './command-line.ts'
import type { CommandDefinition } from './options.ts'

/** What older versions of the vendor's tool had, and what stands for it here. */
const RENAMED = new Map([
  ['-e', 'the url is -u, the API key -a, the private key -k'],
  ['--endpoint', 'it is --url here'],
  ['-s', 'the directory of profiles is -i'],
  ['--profiles', 'the directory of profiles is --in'],
  ['decrypt', 'next decrypts what it hands out'],
])

const PLAIN_OPTION = /^--[a-z][a-z-]{0,20}$/

const PLAIN_WORD = /^[a-z][a-z-]{0,15}$/

/** What is wrong, and what to do beside reading the help. */
type Mistake = readonly [message: string, hint?: string | undefined]

/**
 * What is wrong with a command line; undefined where nothing is. Of the line itself it repeats only names of options and
 * words that look like a command: anything else may be the API key.
 * @param platform the system whose rules of quoting made words of the line
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
    // Behind an option that nobody knows, the first word may be that option's value.
    (first === line.argv[0] ? wrongCommand(line, commands) : undefined) ??
    wrongOption(line, commands) ??
    wrongCommand(line, commands) ??
    wrongWord(line, commands)
  if (mistake === undefined) return undefined
  const [message, hint] = mistake
  const isCommand = first !== 'help' && commands.some(({ name }) => name === first)
  const help = isCommand ? `softsim help ${first}` : 'softsim help'
  return new Failure('usage', message, { hint: hint === undefined ? help : `${hint}; see ${help}` })
}

/** A script that calls `next` gives what is printed to a device: a slip of the pen in it must print nothing. */
function intoADevice({ words, asksHelp, asksVersion, argv }: CommandLine): Mistake | undefined {
  if (words[0] !== 'next' || !(asksHelp || asksVersion) || argv.length === 2) return undefined
  return ['next takes -h and -V alone: its standard output goes into devices']
}

/** On Windows `\"` stands for a double quote, which no name of a file can have: the words behind it are lost in it. */
function tornValue({ options }: CommandLine, platform: NodeJS.Platform): Mistake | undefined {
  const torn = options.find(({ value }) => value?.includes('"'))
  if (platform !== 'win32' || torn === undefined) return undefined
  return [
    `the value of ${shown(torn.name)} has a double quote in it`,
    'write "C:\\my profiles", without \\ at its end',
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
  return ['a command is missing: fetch, next or help']
}

function wrongOption(line: CommandLine, commands: readonly CommandDefinition[]): Mistake | undefined {
  const command = commands.find(({ name }) => name === line.words[0])
  for (const { name, value } of line.options) {
    const owner = commands.find((each) => each.values.has(name))
    if (owner === undefined) return [`unknown option ${shown(name)}`, RENAMED.get(name)]
    const takes = (command ?? owner).values.get(name)
    if (takes === undefined) return [`unknown option ${name}`, `${owner.name} has it`]
    if (takes === 'required' && value === undefined) return [`${name} needs a value`]
    if (takes === 'none' && value !== undefined) return [`${name} takes no value`]
  }
  return undefined
}

function wrongWord({ words }: CommandLine, commands: readonly CommandDefinition[]): Mistake | undefined {
  const operands = commands.find(({ name }) => name === words[0])?.operands ?? []
  if (words.length <= 1 + operands.length) return undefined
  return ['there is a word too many on the command line; options begin with a dash']
}

/** The name of an option, where it can't be more than that. */
function shown(name: string): string {
  if (!name.startsWith('--') || name === '--api-key') return name
  if (name.startsWith('--api-key')) return '--api-key…'
  return PLAIN_OPTION.test(name) ? name : '--…'
}
