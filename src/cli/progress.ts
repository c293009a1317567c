import { isatty } from 'node:tty'
import type { Report } from './report.ts'

/** The one line that tells how far a long call is; there is none where nobody looks. */
export interface Progress {
  update(text: string): void
  end(): void
}

const NONE: Progress = { update() {}, end() {} }

/** A progress line on standard error where that is a terminal; messages of the report appear above it. */
export async function startProgress(report: Report): Promise<Progress> {
  // Some serial consoles say that they have no columns, and ora divides by them.
  if (!isatty(2) || !(process.stderr.columns > 0)) return NONE
  const { default: ora } = await import('ora')
  const spinner = ora({ stream: process.stderr, discardStdin: false }).start()
  report.lastLine = spinner
  return {
    update(text) {
      spinner.text = text
    },
    end() {
      report.lastLine = undefined
      spinner.stop()
    },
  }
}
