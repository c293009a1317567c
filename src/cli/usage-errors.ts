import { UsageError } from '../advice/advice.ts'
import { oddEnd } from '../words.ts'
import { type CommandLine, type GivenOption, isKey } from './command-line.ts'
import { fromElsewhere, meantByBareWord, RENAMED } from './guesses.ts'
import { nearest } from './nearest.ts'
import type { CommandDefinition, OptionDefinition } from './options.ts'

const IN_QUOTES = 'put a value with spaces in double quotes'
const BEGIN_WITH_A_DASH = 'options begin with a dash'

const KEY = ['-k', '--key']

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
): UsageError | undefined {
  const [first] = line.words
  const mistake =
    intoADevice(line) ??
    tornValue(line, platform) ??
    // After an unknown option, the first word may be the value of that option.
    (first === line.argv[0] ? wrongCommand(line, commands) : undefined) ??
    wrongOption(line, commands) ??
    wrongCommand(line, commands) ??
    givenTwice(line, commands) ??
    wrongWord(line, commands)
  if (mistake === undefined) return undefined
  const [message, usual] = mistake
  const hint = line.argv.some((word) => word.endsWith('\r')) ? `a word ${oddEnd('\r')}` : usual
  const isCommand = first !== 'help' && commands.some(({ name }) => name === first)
  const help = isCommand ? `softsim help ${first}` : 'softsim help'
  return new UsageError(message, joined(hint, `see ${help}`))
}

function joined(hint: string | undefined, next: string): string {
  if (hint === undefined) return next
  return hint.endsWith('?') ? `${hint} ${next}` : `${hint}; ${next}`
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
    const known = commands.map(({ name }) => name)
    const hint = RENAMED.get(first) ?? dashHint(first) ?? didYouMean(first, known)
    return [unknownCommand(first), hint]
  }
  const isGlobal = line.options.every(({ name }) => commands.every((command) => command.values.has(name)))
  if ((line.asksHelp || line.asksVersion) && isGlobal) return undefined
  return ['no command given', `use ${eitherOf(commands)}`]
}

/** Names it only if it can't be a secret. */
export const unknownCommand = (word: string) =>
  PLAIN_WORD.test(word) ? `unknown command ${word}` : 'unknown command'

/** The names of the commands, as in "fetch, next or help". */
export const eitherOf = (commands: readonly CommandDefinition[]) =>
  commands
    .map(({ name }) => name)
    .join(', ')
    .replace(/, (?=[^,]*$)/, ' or ')

function wrongOption(line: CommandLine, commands: readonly CommandDefinition[]): Mistake | undefined {
  const command = commands.find(({ name }) => name === line.words[0])
  for (const option of line.options) {
    const { name, value } = option
    const owner = commands.find((each) => each.values.has(name))
    const takes = owner && (command ?? owner).values.get(name)
    if (takes === undefined) {
      const candidates = command === undefined ? commands : [command]
      const known = candidates.flatMap(namesOf)
      const meant = wrongDashes(option, known) ?? fromElsewhere(name, candidates) ?? didYouMean(name, known)
      const hints = [owner && `it is an option of ${owner.name}`, meant]
      const hint = RENAMED.get(name) ?? hints.filter((each) => each !== undefined).join('; ')
      return [`unknown option ${shown(name)}`, hint || undefined]
    }
    if ((takes === 'required' || takes === 'several') && value === undefined) return [`${name} needs a value`]
    if (takes === 'none' && value !== undefined) return [`${name} takes no value`]
    // The private key has its own message. Any other value may be repeated in one.
    if (value !== undefined && isKey(value) && !KEY.includes(name)) {
      return [
        `the value of ${name} looks like a private key`,
        'only softsim next and softsim status take the key: as a file, with -k',
      ]
    }
  }
  return undefined
}

/** Which of two values counts would be a guess. */
function givenTwice(line: CommandLine, commands: readonly CommandDefinition[]): Mistake | undefined {
  const command = commands.find(({ name }) => name === line.words[0])
  const given = new Set<OptionDefinition>()
  for (const { name } of line.options) {
    const option = command?.options.find(({ names }) => names.includes(name))
    if (option === undefined || option.value === 'none' || command?.repeatable.includes(name)) continue
    if (given.has(option)) return [`${name} is given more than once`, 'give it once']
    given.add(option)
  }
  return undefined
}

function wrongWord(
  { words, argv }: CommandLine,
  commands: readonly CommandDefinition[],
): Mistake | undefined {
  const command = commands.find(({ name }) => name === words[0])
  const expected = 1 + (command?.operands.length ?? 0)
  const word = words[expected]
  if (command === undefined || word === undefined) return undefined
  const before = entryBefore(argv, expected)
  const [name = ''] = before.split('=', 1)
  const isValue = name !== before
  const value = before.slice(name.length + 1)
  // An operand before it may be a secret too.
  const isKnown = name === command.name || name === '--' || command.values.has(name)
  const place = isKnown ? `after ${isValue ? 'the value of ' : ''}${name}` : 'on the command line'
  const [stem = ''] = word.split('=', 1)
  const hint = isKey(value)
    ? `${name} takes the file of the key, not the key itself`
    : (dashHint(word) ??
      wrongDashes({ name, value }, namesOf(command)) ??
      didYouMean(`--${stem}`, namesOf(command)) ??
      meantByBareWord(word, command, commands))
  const isTorn = isValue && !/^\d+$/.test(value) && !isKey(value) && !hint?.endsWith('?')
  return [`unexpected argument ${place}`, isTorn ? joined(hint, IN_QUOTES) : (hint ?? BEGIN_WITH_A_DASH)]
}

/** What stands in the normal form of the line before the word with this number. */
function entryBefore(argv: readonly string[], number: number): string {
  const rest = argv.indexOf('--')
  const words = [...argv.keys()].filter((at) => (rest >= 0 && at > rest) || !/^-./.test(argv[at] ?? ''))
  return argv[(words[number] ?? 0) - 1] ?? ''
}

const namesOf = ({ values }: CommandDefinition) => [...values.keys()]

function didYouMean(typed: string, known: readonly string[]): string | undefined {
  const name = nearest(typed, known)
  return name === undefined ? undefined : `did you mean ${name}?`
}

/** `-iccid` is read as `-i ccid`. `--k` has one dash too many. */
function wrongDashes({ name, value = '' }: GivenOption, known: readonly string[]): string | undefined {
  const [long = ''] = `-${name}${value}`.split('=', 1)
  const meant = [long, name.slice(1)].find((each) => known.includes(each))
  return meant === undefined ? undefined : `did you mean ${meant}?`
}

/** Word processors and web pages turn hyphens into dashes. */
const dashHint = (word: string) =>
  /^[\u2010-\u2015\u2212]/.test(word)
    ? 'an option begins with a hyphen (-): this argument begins with a longer dash'
    : undefined

/** Returns the option name only if it can't contain a secret. */
function shown(name: string): string {
  if (!name.startsWith('--') || name === '--api-key') return name
  if (name.startsWith('--api-key')) return '--api-key...'
  return PLAIN_OPTION.test(name) ? name : '--...'
}
