/** The line on a terminal that shows how far a long call is. */
import { type Progress, printable } from '../words.ts'
import type { Report } from './report.ts'
import { isTerminal, print } from './streams.ts'

const REDRAW_MS = 100

/** A log has at most one line in this time. */
const LOG_MS = 10_000

/** What the spinner, a blank and the cursor take. */
const BESIDE = 3

/**
 * Shows the progress of some work on standard error, until that prints or ends: on a terminal as a line below all
 * messages, elsewhere as a message now and then.
 */
export async function withProgress(
  report: Report,
  work: (progress: Progress, printNow: typeof print) => Promise<void>,
): Promise<void> {
  // Some serial consoles report zero columns, and ora divides by that number.
  const canRedraw = isTerminal(2) && process.stderr.columns > 0 && process.env['TERM'] !== 'dumb'
  const progress = canRedraw ? await startLine(report) : startLog(report)
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

async function startLine(report: Report): Promise<Progress> {
  const { default: ora } = await import('ora')
  const color = process.env['NO_COLOR'] ? false : 'cyan'
  const spinner = ora({ stream: process.stderr, discardStdin: false, isEnabled: true, color })
  let line = () => ''
  let timer: NodeJS.Timeout | undefined
  const draw = () => {
    spinner.text = printable(line()).slice(0, Math.max(process.stderr.columns - BESIDE, 0))
  }
  return {
    follow(next) {
      line = next
      draw()
      timer ??= setInterval(draw, REDRAW_MS)
      spinner.start()
      report.lastLine = spinner
    },
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

/** Says the line when it has changed, at most once in ten seconds. */
export function startLog(report: Report): Progress {
  let line = () => ''
  let said = ''
  const say = () => {
    const text = line()
    if (text !== said) report.tell(0, text)
    said = text
  }
  const timer = setInterval(say, LOG_MS)
  return {
    follow(next) {
      line = next
    },
    end: () => clearInterval(timer),
  }
}
