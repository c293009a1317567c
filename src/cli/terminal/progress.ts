import { isatty } from 'node:tty'
import { type Progress, printable } from '../../words.ts'
import type { Report } from '../report.ts'
import { hasColour } from './streams.ts'

const REDRAW_MS = 100

/** A log has at most one line in this time. */
const LOG_MS = 10_000

/** If nothing changes, it has a line in this time: the program is alive. */
const SAME_MS = 30_000

/** What the spinner, a blank and the cursor take. */
const BESIDE = 3

/**
 * Shows the progress on standard error: on a terminal as a line below all messages, elsewhere as messages.
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
  let draw = () => {}
  return {
    follow(line) {
      draw = () => {
        spinner.text = cut(printable(line()), process.stderr.columns - BESIDE)
      }
      draw()
      clearInterval(timer)
      timer = setInterval(draw, REDRAW_MS)
      spinner.start()
      report.lastLine = spinner
    },
    note() {},
    end() {
      clearInterval(timer)
      report.lastLine = undefined
      // Even one that has not started would write to the terminal.
      if (!spinner.isSpinning) return
      draw()
      spinner.render().stop()
    },
  }
}

export function startLog(report: Report): Progress {
  let line: (() => string) | undefined
  let said = { state: '', at: Number.NEGATIVE_INFINITY }
  const say = () => {
    const [text = '', at] = [line?.(), performance.now()]
    // That time passes is no change.
    const state = text.replace(/\d+ (s|min|h)\b/g, '')
    if (text === '' || (state === said.state && at - said.at < SAME_MS)) return
    said = { state, at }
    timer.refresh()
    report.tell(0, text)
  }
  const timer = setInterval(say, LOG_MS)
  return {
    follow(next) {
      line = next
    },
    note() {
      if (performance.now() - said.at >= LOG_MS) say()
    },
    end: () => clearInterval(timer),
  }
}

/** Shortens a text to this many columns. */
export const cut = (text: string, columns: number) =>
  text.length <= columns ? text : `${text.slice(0, Math.max(columns - 3, 0))}...`
