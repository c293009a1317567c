import { UsageError } from '../advice/advice.ts'
import { oddEnd } from '../words.ts'
import { type CommandLine, type Entry, isKey, isWord } from './command-line.ts'
import { type CommandDefinition, type OptionDefinition, splitDescription } from './options.ts'

const IN_QUOTES = 'put a value with spaces in double quotes'

const KEY = ['-k', '--key']

const PLAIN_OPTION = /^--[a-z][a-z-]{0,20}$/

const PLAIN_WORD = /^[a-z][a-z-]{0,15}$/

/** In characters. */
const LONGEST_WORD = 40
const SHORTEST_STEM = 4

/** Options and commands of older versions of the vendor's tool, and their replacements. */
const RENAMED = new Map([
  ['-e', 'use -u for the URL, -a for the API key and -k for the private key'],
  ['--endpoint', 'use --url'],
  ['-s', 'use -i for the directory of profiles'],
  ['--profiles', 'use --in for the directory of profiles'],
  ['decrypt', 'use next, which decrypts the profiles that it hands out'],
  ['version', 'use softsim --version'],
])

/** The other directory: a command that has only one of them is often called with the other's option. */
const OTHER: Readonly<Record<string, string>> = { '-i': '-o', '--in': '--out', '--input': '--out' }

/** What the options are for that a word without one may belong to, command by command. */
const BARE: Readonly<Record<string, string>> = {
  fetch: 'give the number of profiles with -n, and the directory with -o',
  next: 'give the key with -k, a device with --device, and the directory with -i',
  move: 'give the number of profiles with -n, and the directories with -i and -o',
  restore: 'give the directory with -i, and the receipts with --receipts',
  status: 'give the directory with -i, and the key with -k',
}

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
  const command = commands.find(({ name }) => name === first)
  const mistake =
    intoADevice(line) ??
    tornValue(line, platform) ??
    // After an unknown option, the first word may be the value of that option.
    (first === line.argv[0] ? wrongCommand(line, commands) : undefined) ??
    wrongOption(line, commands, command) ??
    wrongCommand(line, commands) ??
    (command && (givenTwice(line, command) ?? wrongWord(line, command, commands)))
  if (mistake === undefined) return undefined
  const [message, usual] = mistake
  const hint = line.argv.some((word) => word.endsWith('\r')) ? `a word ${oddEnd('\r')}` : usual
  const help = command === undefined || first === 'help' ? 'softsim help' : `softsim help ${first}`
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
    `the value of ${shown(torn.option)} contains a double quote`,
    'write "C:\\my profiles", without a backslash at the end',
  ]
}

function wrongCommand(line: CommandLine, commands: readonly CommandDefinition[]): Mistake | undefined {
  const [first] = line.words
  if (first !== undefined) {
    const known = commands.map(({ name }) => name)
    if (known.includes(first)) return undefined
    return [unknownCommand(first), RENAMED.get(first) ?? dashHint(first) ?? didYouMean(first, known)]
  }
  const isGlobal = line.options.every(({ option }) => commands.every(({ values }) => values.has(option)))
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

function wrongOption(
  line: CommandLine,
  commands: readonly CommandDefinition[],
  command: CommandDefinition | undefined,
): Mistake | undefined {
  for (const entry of line.options) {
    const { option, value } = entry
    const owner = commands.find(({ values }) => values.has(option))
    const takes = owner && (command ?? owner).values.get(option)
    if (takes === undefined) {
      const candidates = command === undefined ? commands : [command]
      const known = candidates.flatMap(namesOf)
      const meant = wrongDashes(entry, known) ?? otherName(option, candidates) ?? didYouMean(option, known)
      const hints = [owner && `it is an option of ${owner.name}`, meant]
      const hint = RENAMED.get(option) ?? hints.filter((each) => each !== undefined).join('; ')
      return [`unknown option ${shown(option)}`, hint || undefined]
    }
    if ((takes === 'required' || takes === 'several') && value === undefined)
      return [`${option} needs a value`]
    if (takes === 'none' && value !== undefined) return [`${option} takes no value`]
    // The private key has its own message. Any other value may be repeated in one.
    if (value !== undefined && isKey(value) && !KEY.includes(option)) {
      return [
        `the value of ${option} looks like a private key`,
        'only softsim next and softsim status take the key: as a file, with -k',
      ]
    }
  }
  return undefined
}

/** What is typed may be the name of a value: `--serial` or `--serial-number` of `<SERIAL>`, `--json` of `<FORMAT>`. */
function otherName(typed: string, commands: readonly CommandDefinition[]): string | undefined {
  const word = typed.replace(/^--/, '')
  const [command, another] = commands
  const isOutput = /^(-o|--out|--output)$/.test(typed) && !command?.values.has('--out')
  if (isOutput && another === undefined) return `${command?.name} prints to standard output`
  for (const { names, description } of commands.flatMap(({ options }) => options)) {
    const [value, words] = splitDescription(description)
    const [listed = ''] = words.split(' (')
    if (names.includes(OTHER[typed] ?? '')) return `did you mean ${OTHER[typed]}?`
    if (isAbout(word, value)) return `did you mean ${names.at(-1)}?`
    if (value.startsWith('[') && listed.split(/\W+/).includes(word))
      return `did you mean ${names[0]}=${word}?`
  }
  return undefined
}

/** Whether a word is the name of a value, or begins or ends with it: `--directory` and `<DIR>`, `--private-key` and `<KEY>`. */
function isAbout(word: string, value: string): boolean {
  const [typed, name = ''] = [word.toUpperCase(), /^<(\w{3,})>$/.exec(value)?.[1]]
  return name !== '' && (typed.startsWith(name) || typed.endsWith(name))
}

/** Which of two values counts would be a guess. */
function givenTwice(line: CommandLine, { options, repeatable }: CommandDefinition): Mistake | undefined {
  const given = new Set<OptionDefinition>()
  for (const { option: name } of line.options) {
    const option = options.find(({ names }) => names.includes(name))
    if (option === undefined || option.value === 'none' || repeatable.includes(name)) continue
    if (given.has(option)) return [`${name} is given more than once`, 'give it once']
    given.add(option)
  }
  return undefined
}

function wrongWord(
  { entries }: CommandLine,
  command: CommandDefinition,
  commands: readonly CommandDefinition[],
): Mistake | undefined {
  const extra = entries.filter(isWord)[1 + command.operands.length]
  if (extra === undefined) return undefined
  const { value: word = '' } = extra
  const before = entries[entries.indexOf(extra) - 1] ?? {}
  const { option = before.value === command.name ? command.name : undefined, value = '' } = before
  const isValue = !isWord(before) && before.value !== undefined
  // An operand before it may be a secret too.
  const place =
    option === undefined ? 'on the command line' : `after ${isValue ? 'the value of ' : ''}${option}`
  const [stem = ''] = word.split('=', 1)
  const known = namesOf(command)
  const hint =
    isValue && isKey(value)
      ? `${option} takes the file of the key, not the key itself`
      : (dashHint(word) ??
        wrongDashes(before, known) ??
        didYouMean(`--${stem}`, known) ??
        (commands.some(({ name }) => name === word) ? 'give one command only' : BARE[command.name]))
  const isTorn = isValue && !/^\d+$/.test(value) && !isKey(value) && !hint?.endsWith('?')
  const otherwise = 'options begin with a dash'
  return [`unexpected argument ${place}`, isTorn ? joined(hint, IN_QUOTES) : (hint ?? otherwise)]
}

const namesOf = ({ values }: CommandDefinition) => [...values.keys()]

function didYouMean(typed: string, known: readonly string[]): string | undefined {
  const name = nearest(typed, known)
  return name === undefined ? undefined : `did you mean ${name}?`
}

/** `-iccid` is read as `-i ccid`. `--k` has one dash too many. */
function wrongDashes({ option = '', value = '' }: Entry, known: readonly string[]): string | undefined {
  const [long = ''] = `-${option}${value}`.split('=', 1)
  const meant = [long, option.slice(1)].find((each) => known.includes(each))
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

/**
 * Finds what the user probably meant.
 * @returns the known name that is most like the typed one, or begins with it, or is its beginning; undefined if there is none
 */
export function nearest(typed: string, known: readonly string[]): string | undefined {
  const word = typed.toLowerCase().slice(0, LONGEST_WORD)
  const letters = word.replace(/^-+/, '').length
  const most = letters < 3 ? 0 : letters < 6 ? 1 : 2
  const isLike = (name: string, edits: number) => {
    const isStart = letters > 1 && name.startsWith(word)
    const isStem = name.length >= SHORTEST_STEM && word.startsWith(name)
    return isStart || isStem ? edits >= Math.min(1, most) : isWithin(edits, word, name.toLowerCase())
  }
  for (let edits = 0; edits <= most; edits++) for (const name of known) if (isLike(name, edits)) return name
  return undefined
}

/** Whether so many edits make one word of the other: a character inserted, deleted or replaced, or neighbours swapped. */
function isWithin(edits: number, a: string, b: string): boolean {
  if (a === b) return true
  if (edits === 0) return false
  if (a[0] === b[0]) return isWithin(edits, a.slice(1), b.slice(1))
  const isSwap = a[0] === b[1] && a[1] === b[0]
  const edited = [
    [a.slice(1), b],
    [a, b.slice(1)],
    [a.slice(1), b.slice(1)],
  ] as const
  return (
    edited.some(([one, other]) => isWithin(edits - 1, one, other)) ||
    (isSwap && isWithin(edits - 1, a.slice(2), b.slice(2)))
  )
}
