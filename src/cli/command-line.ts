/**
 * Reads the command line before Clipanion does, because Clipanion 3
 * - does not know `-n5`, nor values that begin with a dash, and takes `-v` for its own version option;
 * - repeats the whole line in its errors, with the API key, and prints them to standard output, which is the device's;
 * - needs milliseconds for values in words of their own (scripts/package/README.md); this file, of 100 lines, needs half a one.
 *
 * What is wrong with a line is found here and in usage-errors.ts. Clipanion gets a line that it can't refuse.
 */
import type { CommandDefinition, Value } from './options.ts'

export interface GivenOption {
  /** As typed: `-k` or `--key`. A word that begins with a dash is kept even if no command has such an option. */
  readonly name: string
  readonly value: string | undefined
}

export interface CommandLine {
  /** The words that belong to no option. The first one is the command. */
  readonly words: readonly string[]
  readonly options: readonly GivenOption[]
  readonly asksHelp: boolean
  readonly asksVersion: boolean
  /** The line with every option in the form that Clipanion reads: `-n=5`, `--format=json`. */
  readonly argv: readonly string[]
}

/**
 * Splits a command line by the options of all commands. Unknown options are kept, not reported.
 * @param typed the arguments, without the program name
 */
export function readArgv(typed: readonly string[], commands: readonly CommandDefinition[]): CommandLine {
  const values = new Map(commands.flatMap(({ values }) => [...values]))
  const words: string[] = []
  const options: GivenOption[] = []
  const argv: string[] = []
  const left = [...typed]
  const isCommand = (word: string) => commands.some(({ name }) => name === word)
  const takeValue = (name: string): string | undefined => {
    const [word] = left
    if (word === undefined || (isOption(word) && !isNumber(word))) return undefined
    const value = values.get(name)
    // The word after a bare `--format` may be the command.
    const isValue = value === 'required' || value === 'several' || (value === 'optional' && !isCommand(word))
    return isValue ? left.shift() : undefined
  }
  /** What follows the first value. */
  const takeValues = (name: string): string[] => {
    const found: string[] = []
    // The command may stand behind its options.
    while (words.length > 0 || !isCommand(left[0] ?? '')) {
      const value = takeValue(name)
      if (value === undefined) break
      found.push(value)
    }
    return found
  }
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    if (word === '--') {
      words.push(...left)
      argv.push(word, ...left.splice(0))
    } else if (isOption(word)) {
      for (const [name, glued] of split(word, values)) {
        const value = glued ?? takeValue(name)
        for (const each of [value, ...(values.get(name) === 'several' ? takeValues(name) : [])]) {
          options.push({ name, value: each })
          argv.push(each === undefined ? name : `${name}=${each}`)
        }
      }
    } else {
      words.push(word)
      argv.push(word)
    }
  }
  const has = (...names: string[]) => options.some(({ name }) => names.includes(name))
  return { words, options, asksHelp: has('-h', '--help'), asksVersion: has('-V', '--version'), argv }
}

/** A single dash is not an option, and neither is a key that is given in place of its file. */
const isOption = (word: string) => word.startsWith('-') && word !== '-' && !isKey(word)

/** Whether a word is a private key in PEM (RFC 7468), or its first or last line, as far as a shell has not split it. */
export const isKey = (word: string) => /^-----(BEGIN|END)/.test(word)

/** No option is called like a negative number. As a value, it gets a better error message. */
const isNumber = (word: string) => /^-\d+$/.test(word)

/** The options in one word, each with the value attached to it: `--key=a`, `-k=a`, `-ka`, `-vvka`. */
function split(word: string, values: ReadonlyMap<string, Value>): [name: string, glued?: string][] {
  if (word.startsWith('--')) {
    const [name = ''] = word.split('=', 1)
    return [name === word ? [name] : [name, word.slice(name.length + 1)]]
  }
  const found: [string, string?][] = []
  for (let rest = word.slice(1); rest !== ''; ) {
    const [letter = ''] = rest
    const name = `-${letter}`
    rest = rest.slice(letter.length)
    const value = values.get(name)
    if (rest.startsWith('=')) return [...found, [name, rest.slice(1)]]
    if (rest !== '' && value !== undefined && value !== 'none') return [...found, [name, rest]]
    // The rest of the word may be the value of the unknown option.
    if (value === undefined) return [...found, rest === '' ? [name] : [name, rest]]
    found.push([name])
  }
  return found
}
