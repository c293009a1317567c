/** What commands have in common: options, what their values must be, progress and threads. */
import { fstat } from 'node:fs'
import { sep } from 'node:path'
import { Command, Option } from 'clipanion'
import { UsageError } from '../../advice/advice.ts'
import { fullPath } from '../../full-path.ts'
import { type Messages, oddEnd, type Progress } from '../../words.ts'
import type { Report } from '../report.ts'

export interface Context {
  readonly report: Report
  readonly version: string
  /** Writes to standard output. */
  readonly print: (text: string) => Promise<void>
  /** Prints the help of one command, or of softsim if no command is given. */
  readonly showHelp: (command?: string) => Promise<void>
}

/** Of each call that takes profiles. */
export const receiptOption = () =>
  Option.String('--receipt', {
    env: 'SOFTSIM_RECEIPT',
    description: '<FILE>: append a receipt per profile (default: SOFTSIM_RECEIPT)',
  })

/** The options of every command. If an option takes a value, its description begins with the name of the value. */
export abstract class BaseCommand extends Command<Context & Command['context']> {
  verbosity = Option.Counter('-v,--verbosity,--verbose', 0, {
    description: 'print more: -v each step, -vv each request and file, -vvv everything except secrets',
  })

  version = Option.Boolean('-V,--version', false, { description: 'print the version' })

  /** Shows the progress of some work, until that prints or ends. */
  protected async withProgress(
    work: (progress: Progress, print: Context['print']) => Promise<void>,
  ): Promise<void> {
    const { report, print } = this.context
    // Loaded on demand, like all that other commands need: `next` starts 50,000 times.
    const { startProgress } = await import('../terminal/progress.ts')
    const progress = await startProgress(report)
    const endAndPrint = (text: string) => {
      progress.end()
      return print(text)
    }
    try {
      await work(progress, endAndPrint)
    } finally {
      progress.end()
    }
  }
}

/**
 * For flushes, which wait for the disk, not for a processor: a thousand of them take a third of the time that they take
 * with libuv's own 4 threads on ext4 and xfs, and a sixth on btrfs.
 */
export const FLUSH_THREADS = 32

/** Starts libuv's threads. It ends the process if it can't: call this before anything is requested or claimed. */
export function startThreads(count: number): void {
  // libuv reads this when it first needs a thread.
  process.env['UV_THREADPOOL_SIZE'] ??= String(count)
  fstat(0, () => {})
}

/** Parses the value of `--count`. @throws {UsageError} */
export const parseCount = (text: string): number => wholeNumber(text, '-n (--count)', 1)

/** Parses a number from `least`, which is 0 or 1. @throws {UsageError} */
export function wholeNumber(text: string, option: string, least: 0 | 1): number {
  if (/^(0|[1-9]\d{0,8})$/.test(text) && Number(text) >= least) return Number(text)
  const end = oddEnd(text)
  throw new UsageError(
    `the value of ${option} is not a whole number from ${least} to 999999999`,
    end === undefined ? `for example: ${option.split(' ')[0]} 100` : `the value ${end}`,
  )
}

/**
 * Parses the value of `--since`, in local time unless it has a zone.
 * @param now what `today`, `yesterday` and a time without a day refer to
 * @throws {UsageError}
 */
export function parseTime(text: string, now = new Date()): Date {
  const clock = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(text)
  if (clock !== null || text === 'today' || text === 'yesterday') {
    const [, hours, minutes] = clock ?? []
    const day = now.getDate() - (text === 'yesterday' ? 1 : 0)
    const time = new Date(now.getFullYear(), now.getMonth(), day, Number(hours ?? 0), Number(minutes ?? 0))
    // A night shift began yesterday.
    if (time > now) time.setDate(time.getDate() - 1)
    return time
  }
  const [, day, time = '00:00', zone = ''] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d)?)?$/.exec(text) ?? []
  const parsed = new Date(`${day}T${time}${zone}`)
  if (!Number.isNaN(parsed.getTime())) return parsed
  throw new UsageError(
    'the value of --since is not a time',
    'for example: --since 06:00 or --since yesterday',
  )
}

/** An option value can be empty because a shell variable is unset. @throws {UsageError} */
export function notEmpty(option: string, value: string): string {
  if (value !== '') return value
  throw new UsageError(
    `the value of ${option} is empty`,
    'give a value; if it is a shell variable, the variable is not set',
  )
}

/**
 * @param value of `--format`; true for the option alone, which stands for the first format
 * @throws {UsageError}
 */
export function checkFormat<T extends string>(
  command: string,
  value: string | boolean,
  formats: readonly T[],
): T {
  const format = value === true ? formats[0] : formats.find((each) => each === value)
  if (format !== undefined) return format
  const all = `${formats.slice(0, -1).join(', ')} or ${formats.at(-1)}`
  throw new UsageError(`the value of --format is not ${all}`, `see softsim help ${command}`)
}

/**
 * Of the lengths that ITU-T E.118 allows, SIM cards have 19 or 20 digits.
 * @returns the digits, without a filler
 * @throws {UsageError}
 */
export function checkIccid(text: string): string {
  const [, digits] = /^(\d{19,20})[Ff]?$/.exec(notEmpty('--iccid', text)) ?? []
  if (digits !== undefined) return digits
  throw new UsageError(
    'the value of --iccid is not 19 or 20 digits',
    'give the whole ICCID, as in the name of the file',
  )
}

/**
 * Parses the value of `--receipt`.
 * @param directories of profiles. A receipt says what a backup of them has forgotten, and must not die with them
 * @throws {UsageError}
 */
export function checkReceipt(
  path: string | undefined,
  messages: Pick<Messages, 'warn'>,
  ...directories: readonly string[]
): string | undefined {
  if (path === undefined) return undefined
  const end = oddEnd(notEmpty('--receipt', path))
  if (end !== undefined)
    throw new UsageError(`the name of the receipt ${end}`, 'for example: --receipt receipt.jsonl')
  if (path === '-') {
    throw new UsageError(
      '--receipt names a file: standard output is for the device',
      'such as: --receipt receipt.jsonl',
    )
  }
  if (directories.some((each) => fullPath(path)?.startsWith(`${fullPath(each)}${sep}`)))
    messages.warn(`the receipt ${path} is in a directory of profiles: keep it where it is not lost with them`)
  return path
}
