import { Failure } from './errors.ts'

/** Options that are there or not. */
export const FLAGS = ['-v', '--verbosity', '-V', '--version', '-h', '--help', '--smsp', '--no-smsc', '--crc']

const PLAIN_OPTION = /^--[a-z][a-z-]{0,20}$/

const PLAIN_WORD = /^[a-z][a-z-]{0,15}$/

/**
 * What is wrong with a command line that Clipanion refused, in one line. Of the command line itself it repeats
 * only names of options and words that look like a command: anything else may be the API key.
 */
export function syntaxFailure(error: unknown, argv: readonly string[], commands: readonly string[]): unknown {
  if (!(error instanceof Error && 'clipanion' in error)) return error
  const command = argv.find((word) => commands.includes(word))
  const hint = command === undefined || command === 'help' ? 'softsim help' : `softsim help ${command}`
  return new Failure('usage', reasonOf(error) ?? unknownCommand(argv, command), { hint })
}

/**
 * Clipanion's own words, of its first candidate that has any: `Not enough arguments to option -n.`,
 * `Unsupported option name ("-x")`, `Invalid option name ("--crc=yes")`, `Extraneous positional argument ("more").`
 */
function reasonOf(error: Error): string | undefined {
  const candidates = 'candidates' in error ? (error.candidates as { reason: string | null }[]) : []
  const reason = candidates.find((candidate) => candidate.reason !== null)?.reason ?? ''
  const option = /option(?: name)? (?:\("|)(-[^"=\s]*?)(="?.*)?[").]*$/s.exec(reason)
  if (reason.startsWith('Not enough arguments')) return `${option?.[1]} needs a value`
  if (option !== null) return unknownOption(option[1] ?? '', option[2] !== undefined)
  if (reason.startsWith('Extraneous positional'))
    return 'there is a word too many on the command line; options begin with a dash'
  return undefined
}

function unknownOption(name: string, hasValue: boolean): string | undefined {
  if (!name.startsWith('--')) {
    // Several may stand behind one dash, a value too: no more than the letter is repeated.
    const letter = [...name.slice(1)].find((each) => !FLAGS.includes(`-${each}`))
    if (letter === undefined) return hasValue ? `${name.slice(0, 2)} takes no value` : undefined
    return `unknown option -${letter}`
  }
  const shown = name.startsWith('--api-key') ? '--api-key…' : PLAIN_OPTION.test(name) ? name : '--…'
  return hasValue && FLAGS.includes(name) ? `${shown} takes no value` : `unknown option ${shown}`
}

function unknownCommand(argv: readonly string[], command: string | undefined): string {
  if (command !== undefined) return `the options of ${command} can't be read`
  const word = argv.find((argument) => !argument.startsWith('-'))
  if (word === undefined) return 'a command is missing: fetch, next or help'
  return PLAIN_WORD.test(word) ? `unknown command ${word}` : 'unknown command'
}
