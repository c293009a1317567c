/** What commands have in common: how an option gets its value, and threads. */
import { fstat } from 'node:fs'
import { availableParallelism } from 'node:os'
import { Command, Option } from 'clipanion'
import { UsageError } from '../../failure.ts'
import type { Report } from '../report.ts'
import { directory, keyFile, type Parse, receipt } from './values.ts'

export interface Context {
  readonly env: NodeJS.ProcessEnv
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

export const keyOption = () =>
  single(
    '-k,--key',
    '<KEY>: the file of the private key, or - for standard input (default: SOFTSIM_KEY_FILE)',
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
