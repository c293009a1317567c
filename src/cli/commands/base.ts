import { fstat } from 'node:fs'
import { Command, Option } from 'clipanion'
import type { Progress } from '../../words.ts'
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
