import { isatty } from 'node:tty'
import type { Report } from '../report.ts'

export interface Progress {
  update(text: string): void
  end(): void
}

const NONE: Progress = { update() {}, end() {} }

/** Starts a progress line on standard error. Messages of the report appear above it. */
export async function startProgress(report: Report): Promise<Progress> {
  // Some serial consoles report zero columns, and ora divides by that number.
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
