import { isatty } from 'node:tty'
import { printable } from '../../words.ts'
import type { Report } from '../report.ts'
import { hasColour } from './colour.ts'

export interface Progress {
  /** @param line what to show from now on, whenever it is asked */
  follow(line: () => string): void
  end(): void
}

const REDRAW_MS = 100

/** A log needs no more than this to show that the program is alive. */
const LOG_MS = 30_000

/** What the spinner, a blank and the cursor take. */
const BESIDE = 3

/**
 * Shows the progress on standard error: on a terminal as a line below all messages, elsewhere as a message twice a
 * minute.
 */
export async function startProgress(report: Report): Promise<Progress> {
  // Some serial consoles report zero columns, and ora divides by that number.
  const canRedraw = isatty(2) && process.stderr.columns > 0 && process.env['TERM'] !== 'dumb'
  return canRedraw ? startLine(report) : startLog(report)
}

async function startLine(report: Report): Promise<Progress> {
  const { default: ora } = await import('ora')
  const color = hasColour() ? 'cyan' : false
  const spinner = ora({ stream: process.stderr, discardStdin: false, isEnabled: true, color })
  let timer: NodeJS.Timeout | undefined
  return {
    follow(line) {
      const draw = () => {
        spinner.text = cut(printable(line()), process.stderr.columns - BESIDE)
      }
      draw()
      clearInterval(timer)
      timer = setInterval(draw, REDRAW_MS)
      spinner.start()
      report.lastLine = spinner
    },
    end() {
      clearInterval(timer)
      report.lastLine = undefined
      // Even one that has not started would write to the terminal.
      if (spinner.isSpinning) spinner.stop()
    },
  }
}

/** @param everyMs the time between two messages */
export function startLog(report: Report, everyMs = LOG_MS): Progress {
  let line: (() => string) | undefined
  const timer = setInterval(() => {
    if (line !== undefined) report.tell(0, line())
  }, everyMs)
  return {
    follow(next) {
      line = next
    },
    end: () => clearInterval(timer),
  }
}

/** Shortens a text to this many columns. */
export const cut = (text: string, columns: number) =>
  text.length <= columns ? text : `${text.slice(0, Math.max(columns - 3, 0))}...`
