import { UsageError } from '../advice/advice.ts'
import { oddEnd } from '../words.ts'
import { type CommandDefinition, type CommandLine, isKey, isWord } from './command-line.ts'

const IN_QUOTES = 'put a value with spaces in double quotes'

const KEY = ['-k', '--key']

/** An option or a command that is no secret. */
const PLAIN = /^(--)?[a-z][a-z-]{0,20}$/

/** In characters. */
const LONGEST_WORD = 40
const SHORTEST_STEM = 2

/** What is right somewhere else: in older versions of the vendor's tool, or in other commands. */
const ELSEWHERE = new Map([
  ['-e', 'use -u for the URL, -a for the API key and -k for the private key'],
  ['--endpoint', 'use --url'],
  ['-s', 'use -i for the directory of profiles'],
  ['--profiles', 'use --in for the directory of profiles'],
  ['-i', 'did you mean -o?'],
  ['--in', 'did you mean --out?'],
  ['--private-key', 'next and status take its file, with --key'],
  ...['-o', '--out', '--output'].map((name) => [name, 'this command prints to standard output'] as const),
  ['decrypt', 'use next, which decrypts the profiles that it hands out'],
  ['version', 'use softsim --version'],
])

/** What the options are for that a word without one may belong to, command by command. */
const BARE: Readonly<Record<string, string>> = {
  fetch: 'give the number of profiles with -n, and the directory with -o',
  next: 'give the key with -k, a device with --device, and the directory with -i',
  move: 'give the number of profiles with -n, and the directories with -i and -o',
  restore: 'give the directory with -i, and the receipts with --receipts',
  status: 'give the directory with -i, and the key with -k',
  help: 'options begin with a dash',
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
    return [
      unknownCommand(first),
      ELSEWHERE.get(first) ?? dashHint(first) ?? didYouMean(nearest(first, known)),
    ]
  }
  const isGlobal = line.options.every(({ option }) => commands.every(({ values }) => values.has(option)))
  if ((line.asksHelp || line.asksVersion) && isGlobal) return undefined
  return ['no command given', `use ${eitherOf(commands)}`]
}

/** Names it only if it can't be a secret. */
export const unknownCommand = (word: string) =>
  PLAIN.test(word) ? `unknown command ${word}` : 'unknown command'

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
  for (const { option, value } of line.options) {
    const owner = commands.find(({ values }) => values.has(option))
    const takes = owner && (command ?? owner).values.get(option)
    if (takes === undefined) {
      const meant = optionMeant(command === undefined ? commands : [command], option, option + (value ?? ''))
      const hints = [owner && `it is an option of ${owner.name}`, meant ?? ELSEWHERE.get(option)]
      return [`unknown option ${shown(option)}`, hints.filter(Boolean).join('; ') || undefined]
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

/** Which of two values counts would be a guess. */
function givenTwice(line: CommandLine, { options, repeatable }: CommandDefinition): Mistake | undefined {
  const valued = options.filter(
    ({ takes, names }) => takes !== 'none' && !repeatable.includes(names[0] ?? ''),
  )
  for (const { names } of valued) {
    const [, another] = line.options.filter(({ option }) => names.includes(option))
    if (another !== undefined) return [`${another.option} is given more than once`, 'give it once']
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
  const message = `unexpected argument ${place}`
  if (isValue && isKey(value)) return [message, `${option} takes the file of the key, not the key itself`]
  const isCommand = commands.some(({ name }) => name === word)
  const hint =
    dashHint(word) ??
    optionMeant([command], word, isValue ? option + value : '') ??
    (isCommand ? 'give one command only' : BARE[command.name])
  const isTorn = isValue && !/^\d+$/.test(value) && !hint?.endsWith('?')
  return [message, isTorn ? joined(hint, IN_QUOTES) : hint]
}

/**
 * What is typed may be like the name of an option, or that of its value, such as `serial`, or it may be one of the values
 * that it lists, such as `json`. `--k` has one dash too many.
 * @param glued with the value: `-iccid` is read as `-i ccid`
 */
function optionMeant(
  commands: readonly CommandDefinition[],
  word: string,
  glued: string,
): string | undefined {
  const known = new Map<string, string>()
  for (const { names, value, words } of commands.flatMap(({ options }) => options).reverse()) {
    const listed = value.startsWith('[') ? (words.split(' (')[0] ?? '').split(/, | or /) : []
    for (const each of listed) known.set(each, `${names[0]}=${each}`)
    const [, ofValue] = /^<(\w{3,})>$/.exec(value) ?? []
    if (ofValue !== undefined) known.set(ofValue.toLowerCase(), names.at(-1) ?? '')
    for (const name of names) known.set(bare(name), name)
  }
  return didYouMean(known.get(bare(glued)) ?? known.get(nearest(bare(word), [...known.keys()]) ?? ''))
}

/** In lower case, without dashes before it and a value behind it. */
const bare = (typed: string) => /^-*([^=]*)/.exec(typed.toLowerCase())?.[1] ?? ''

const didYouMean = (name: string | undefined) => (name === undefined ? undefined : `did you mean ${name}?`)

/** Word processors and web pages turn hyphens into dashes. */
const dashHint = (word: string) =>
  /^[\u2010-\u2015\u2212]/.test(word)
    ? 'an option begins with a hyphen (-): this argument begins with a longer dash'
    : undefined

/** Returns the option name only if it can't contain a secret. */
function shown(name: string): string {
  if (!name.startsWith('--') || name === '--api-key') return name
  if (name.startsWith('--api-key')) return '--api-key...'
  return PLAIN.test(name) ? name : '--...'
}

/**
 * Finds what the user probably meant.
 * @returns the known name that is most like the typed one, or begins with it, or is its beginning; undefined if there is none
 */
export function nearest(typed: string, known: readonly string[]): string | undefined {
  const word = typed.toLowerCase().slice(0, LONGEST_WORD)
  const most = word.length < 3 ? 0 : word.length < 6 ? 1 : 2
  const isLike = (name: string, edits: number) => {
    const isStart = word.length > 1 && name.startsWith(word)
    const isStem = name.length >= SHORTEST_STEM && word.startsWith(name)
    return isStart || isStem ? edits >= Math.min(1, most) : isWithin(edits, word, name)
  }
  for (let edits = 0; edits <= most; edits++) {
    const name = known.find((each) => isLike(each, edits))
    if (name !== undefined) return name
  }
  return undefined
}

/** Whether so many edits make one word of the other: a character inserted, deleted or replaced, or neighbours swapped. */
function isWithin(edits: number, a: string, b: string): boolean {
  if (a === b) return true
  if (edits === 0) return false
  if (a[0] === b[0]) return isWithin(edits, a.slice(1), b.slice(1))
  const [one, other] = [a.slice(1), b.slice(1)]
  const isSwap = a[0] === other[0] && one[0] === b[0]
  return (
    isWithin(edits - 1, one, b) ||
    isWithin(edits - 1, a, other) ||
    isWithin(edits - 1, one, other) ||
    (isSwap && isWithin(edits - 1, one.slice(1), other.slice(1)))
  )
}
