import { expect } from 'vitest'

/** How a run ended. */
export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

/** The exit codes a script may meet; none other is an answer. */
const EXIT_CODES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 130]

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

/** The lines of a text, without the end of the last one. */
export const lines = (text: string) => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))
