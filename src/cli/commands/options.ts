/** What commands have in common: how an option gets its value, what the value must be, and threads. */
import { fstat } from 'node:fs'
import { availableParallelism } from 'node:os'
import { Command, Option } from 'clipanion'
import { UsageError } from '../../failure.ts'
import { iccidDigits } from '../../profile/check.ts'
import type { Report } from '../report.ts'

export interface Context {
  readonly env: NodeJS.ProcessEnv
  /** The user's, for the programs that are started. */
  readonly umask: number
  readonly report: Report
  readonly version: string
  readonly commands: readonly CommandClass[]
}

export interface CommandClass {
  new (): BaseCommand & { execute(): Promise<void> }
  readonly paths: string[][]
  readonly usage: { description: string; details?: string; examples: [label: string, command: string][] }
}

/** The options of every command. If an option takes a value, its description begins with the name of the value. */
export abstract class BaseCommand extends Command<Context & Command['context']> {
  verbosity = Option.Counter('-v,--verbosity,--verbose', 0, {
    description: 'print more: -v each step, -vv each request and file, -vvv everything but secrets',
  })

  version = Option.Boolean('-V,--version', false, { description: 'print the version' })
}

/** Which of two values counts would be a guess: to Clipanion, it is the last one. */
export function single<T>(names: string, description: string, parse: Parse<T>, variable = ''): T | undefined {
  return Option.makeCommandOption<T | undefined>({
    definition: (builder) => builder.addOption({ names: names.split(','), arity: 1, description }),
    transformer(_builder, _key, state, context) {
      const [given, another] = givenIn(state, names)
      if (another !== undefined) throw new UsageError(`${another.name} is given twice`, 'give it once')
      if (given !== undefined) return parse(given.value, given.name)
      return variableOf(variable, parse, context as unknown as Context)
    },
  })
}

/** An option that can be given several times. */
export function repeated<T>(names: string, description: string, parse: Parse<T>): T[] {
  return Option.makeCommandOption<T[]>({
    definition: (builder) => builder.addOption({ names: names.split(','), arity: 1, description }),
    transformer: (_builder, _key, state) =>
      givenIn(state, names).map((given) => parse(given.value, given.name)),
  })
}

function givenIn({ options }: { options: { name: string; value: unknown }[] }, names: string) {
  return options.flatMap(({ name, value }) => {
    if (!names.split(',').includes(name)) return []
    if (typeof value === 'string') return { name, value }
    // In a word such as `-vk`, Clipanion takes each letter for an option without a value.
    throw new UsageError(`${name} needs a value`, `give it as a word of its own: ${name} VALUE`)
  })
}

/** An empty variable counts as not set. @throws {UsageError} */
export function variableOf<T>(variable: string, parse: Parse<T>, { env, report }: Context): T | undefined {
  const text = env[variable]
  if (!text) return undefined
  report.cameFrom(variable, text)
  return parse(text, variable)
}

export const directoryOption = () =>
  single('-i,--in', '<DIR>: directory of profiles (default: SOFTSIM_DIR, profiles)', directory, 'SOFTSIM_DIR')

export const keyOption = (orInput = ', or - for standard input') =>
  single(
    '-k,--key',
    `<KEY>: the file of the private key${orInput} (default: SOFTSIM_KEY_FILE)`,
    keyFile,
    'SOFTSIM_KEY_FILE',
  )

export const receiptOption = () =>
  single(
    '--receipt',
    '<FILE>: append a receipt per profile (default: SOFTSIM_RECEIPT)',
    receipt,
    'SOFTSIM_RECEIPT',
  )

/**
 * For flushes, which wait for the disk, not for a processor: a thousand of them take a third of the time that they take
 * with libuv's own 4 threads on ext4 and xfs, and a sixth on btrfs.
 */
const FLUSH_THREADS = 32

/**
 * Starts libuv's threads. It ends the process if it can't: call this before anything is requested or claimed.
 * @param profiles several are decrypted on all cores, and each is flushed; one is flushed and printed in turn
 */
export function startThreads(profiles = FLUSH_THREADS): void {
  const threads = profiles > 1 ? Math.max(availableParallelism(), Math.min(profiles, FLUSH_THREADS)) : 1
  // libuv reads this when it first needs a thread.
  process.env['UV_THREADPOOL_SIZE'] ??= String(threads)
  fstat(0, () => {})
}

/**
 * Makes a value of a text.
 * @param name the option or the variable that the text comes from
 * @throws {UsageError}
 */
export type Parse<T> = (text: string, name: string) => T

/** What shells, env files and templates have done to a value: what it is, and what to do. The first that fits counts. */
const DAMAGE: readonly (readonly [damage: RegExp, words: string, remedy: string])[] = [
  [/^$/, 'is empty', 'perhaps a variable is not set'],
  [/-----(BEGIN|END)/, 'is a key, not the name of a file', 'save it to a file, and name that'],
  [/[\r\n]/, 'has a line break in it', 'save the script or the file of variables with line ends of Unix'],
  [/^\s|\s$/, 'begins or ends with a blank', 'remove it'],
  [/\p{Cc}/u, 'has a control character in it', 'enter it again'],
  [
    /"|^['`\u00ab\u2018\u201a\u201c\u201e]|['`\u00bb\u2018\u2019\u201c\u201d]$/,
    'has quotes in it',
    'remove them; an env file takes a value without quotes, and cmd reads \\" as a quote',
  ],
  [/\s#\s/, 'has a comment in it', 'in an env file, a comment is a line of its own'],
  [/^~[^/\\]*([/\\]|$)/, 'begins with ~', 'a shell replaces it only where a word begins'],
  [
    /\$[a-z_({]|^\$\d|!\w+!|\{\{|^%%?~?\w|^(?!https?:).*%[a-z_]\w*%/i,
    'has a variable in it that nothing has replaced',
    'it may not be set, or stand in single quotes or in an env file: give its value',
  ],
]

/**
 * Refuses what names no file, directory, station, key or address: each would be taken for another one, or made.
 * @param example what to type; the value itself may be a secret, and is never repeated
 */
export const nameLike =
  (example: string): Parse<string> =>
  (text, name) => {
    const found = DAMAGE.find(([damage]) => damage.test(text))
    if (found === undefined) return text
    const [, words, remedy] = found
    const typed = name.startsWith('-') ? `${name} ${example}` : `${name}=${example}`
    throw new UsageError(`the value of ${name} ${words}`, `${remedy}; for example: ${typed}`)
  }

export const directory = nameLike('/data/profiles')
export const keyFile = nameLike('/data/softsim.pem')

export function receipt(text: string, name: string): string {
  if (!/^(-$|\/dev\/(?!shm\/)|\/proc\/)/.test(text)) return nameLike('/data/receipt.jsonl')(text, name)
  throw new UsageError(`${name} needs the name of a file on a disk`, 'such as receipt.jsonl')
}

export function count(text: string, name: string): number {
  if (/^0*[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new UsageError(
    `the value of ${name} is not a whole number from 1 to 999999999`,
    `for example: ${name} 100`,
  )
}

/** A filler may follow. */
export function iccid(text: string, name: string): string {
  const digits = iccidDigits(text)
  if (digits !== undefined) return digits
  const hint = 'give the whole ICCID, as in the name of the file'
  throw new UsageError(`the value of ${name} is not 18 to 20 digits`, hint)
}

export const oneOf =
  <T extends string>(...formats: T[]): Parse<T> =>
  (text, name) => {
    const found = formats.find((each) => each === text)
    if (found !== undefined) return found
    const all = `${formats.slice(0, -1).join(', ')} or ${formats.at(-1)}`
    throw new UsageError(`the value of ${name} is not ${all}`, `for example: ${name} ${formats.at(-1)}`)
  }

/** Refuses options that do not go together. */
export function refuse(isGiven: unknown, message: string, hint: string): void {
  if (isGiven) throw new UsageError(message, hint)
}
