/** Values that look like commands and options: nothing may be printed unless help or the version was asked for. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/directory.ts'
import { softsim } from '../support/softsim.ts'

/** A command line made of pieces whose meaning is known, though its values look like commands and options. */
interface KnownLine {
  readonly argv: string[]
  /** The command; undefined where there is none. */
  readonly command: string | undefined
  /** Whether it asks for help or for the version. */
  readonly asks: boolean
  /** Whether what it asks for must be printed: never among anything else behind `next`. */
  readonly prints: boolean
}

const WORDS = ['next', 'fetch', 'help', 'hex', 'json', '-', 'my profiles', '5']
const GLUED = [...WORDS, '-h', '-V', '--help', '--version', '--', 'h']

const withValue = (short: string[], long: string[]): fc.Arbitrary<string[]> =>
  fc.oneof(
    fc.tuple(fc.constantFrom(...short, ...long), fc.constantFrom(...WORDS)),
    fc.tuple(fc.constantFrom(...long), fc.constantFrom(...GLUED)).map((pair) => [pair.join('=')]),
    fc
      .tuple(
        fc.constantFrom(...short, ...short.map((name) => `-v${name.slice(1)}`)),
        fc.constantFrom(...GLUED),
      )
      .map((pair) => [pair.join('')]),
  )

const flag = (...names: string[]) => fc.constantFrom(...names).map((name) => [name])

const OPTIONS: Record<string, fc.Arbitrary<string[]>> = {
  next: fc.oneof(
    withValue(['-k', '-i', '-n'], ['--key', '--in', '--count', '--iccid']),
    flag('-v', '-vv', '--crc', '--no-crc', '--smsp', '--no-smsc', '--format=json', '--format=help'),
  ),
  fetch: fc.oneof(
    withValue(['-a', '-n', '-o', '-u'], ['--api-key', '--count', '--out', '--url']),
    flag('-v', '-vvv'),
  ),
  help: flag('-v', '--verbosity'),
  none: flag('-v', '-vv'),
}

const QUESTIONS = ['-h', '--help', '-V', '--version', '-vh', '-Vv', '-hV']

const knownLine: fc.Arbitrary<KnownLine> = fc
  .constantFrom('next', 'next', 'fetch', 'help', undefined)
  .chain((command) => {
    const option = OPTIONS[command ?? 'none'] as fc.Arbitrary<string[]>
    return fc.record({
      command: fc.constant(command),
      before: fc.array(option, { maxLength: 2 }),
      after: fc.array(option, { maxLength: 2 }),
      question: fc.option(fc.constantFrom(...QUESTIONS), { nil: undefined }),
      isFirst: fc.boolean(),
      slip: fc.constantFrom(undefined, undefined, undefined, '--nope', 'nxet more', '-xnext'),
    })
  })
  .map(({ command, before, after, question, isFirst, slip }) => {
    const asked = question === undefined ? [] : [question]
    const argv = [
      ...(isFirst ? asked : []),
      ...before.flat(),
      ...(command === undefined ? [] : [command]),
      ...after.flat(),
      ...(isFirst ? [] : asked),
      ...(slip?.split(' ') ?? []),
    ]
    const asks = question !== undefined
    const isAlone = before.length + after.length === 0 && !/^-\w\w/.test(question ?? '')
    const isAnswered = asks ? command !== 'next' || isAlone : command === 'help'
    return { argv, command, asks, prints: isAnswered && slip === undefined }
  })

// A fetch that is not asked for its help would go to the network.
const LINES = fc
  .sample(knownLine, { numRuns: 60, seed: 10 })
  .filter(({ command, asks, prints }) => command !== 'fetch' || asks || prints)

test.concurrent.each(LINES)('$argv', async ({ argv, prints }) => {
  const { code, stdout } = await softsim(argv, { cwd: temporaryDirectory() })
  if (prints) expect([code, stdout]).toEqual([0, expect.stringMatching(/^(softsim |\d+\.\d+\.\d+\n$)/)])
  else expect([code === 0, stdout]).toEqual([false, ''])
})
