import { expect } from 'vitest'

/** How a run ended. */
export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

/** The exit codes a script may meet; none other is an answer. */
const EXIT_CODES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 130]

/** What holds for every call, whatever it was asked and however it ended. */
export function expectPromisesKept(args: readonly string[], { code, signal, stdout, stderr }: Ended): void {
  const call = `softsim ${args.join(' ')}`
  if (signal === null) expect(EXIT_CODES, call).toContain(code)
  // The counts of a directory are worth having also where it is empty, and so is what receipts contradict.
  if (code !== 0 && !['restore', 'status'].includes(args[0] ?? ''))
    expect(stdout, `standard output of a failed ${call}`).toBe('')
  for (const line of lines(stderr)) expect(line, `standard error of ${call}`).toMatch(/^softsim: ./)
  if (verbosityOf(args) < 3) expect(stderr, `stack trace of ${call}`).not.toMatch(/^softsim: +at .*:\d+:\d+/m)
}

/** How often -v was given, or more than that. */
const verbosityOf = (args: readonly string[]) =>
  args
    .map((word) => (/^--verbos(e|ity)$/.test(word) ? 1 : (/^-(v*)/.exec(word)?.[1]?.length ?? 0)))
    .reduce((a, b) => a + b, 0)

/** On Windows, the hint for cmd may be followed by one for PowerShell. */
const OTHER_SHELL = process.platform === 'win32' ? '(softsim: hint: in PowerShell: .+\\n)?' : ''

/**
 * A run that failed: its exit code, one line on standard error that says why, maybe one that says what to do, and
 * nothing on standard output.
 * @param why the whole line, without the program's name
 * @param hint the whole hint, where there must be one
 */
export function failure(code: number, why: RegExp, hint?: RegExp): Ended {
  const hintLine = hint === undefined ? '(softsim: hint: .+\\n)?' : `softsim: hint: ${hint.source}\\n`
  const text = new RegExp(`^softsim: error: ${why.source}\\n${hintLine}${OTHER_SHELL}$`, why.flags)
  return { code, signal: null, stdout: '', stderr: expect.stringMatching(text) }
}

/** The lines of a text, without the end of the last one. */
export const lines = (text: string) => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))
