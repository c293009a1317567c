/**
 * Splits the command line for Clipanion, because Clipanion 3
 * - does not know `-n5`, nor values that begin with a dash, and takes `-v` for its own version option;
 * - repeats the whole line in its errors, with the API key, and prints them to standard output, which is the device's.
 *
 * What is wrong with a line is found in usage-errors.ts. Clipanion gets a line that it can't refuse.
 */
import type { CommandDefinition, Value } from './options.ts'

/** An option as typed, `-k` or `--key`, and its value; or a word that belongs to none. */
export interface Entry {
  /** A word that begins with a dash is kept even if no command has such an option. */
  readonly option?: string
  readonly value?: string | undefined
}

export interface CommandLine {
  readonly entries: readonly Entry[]
  /** The words that belong to no option. The first one is the command. */
  readonly words: readonly string[]
  readonly options: readonly Required<Entry>[]
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
  const entries: Entry[] = []
  const left = [...typed]
  const isCommand = (word = '') => commands.some(({ name }) => name === word)
  const takeValue = (option: string): string | undefined => {
    const [word] = left
    if (word === undefined || (isOption(word) && !isNumber(word))) return undefined
    const value = values.get(option)
    // The word after a bare `--format` may be the command.
    const isValue = value === 'required' || value === 'several' || (value === 'optional' && !isCommand(word))
    return isValue ? left.shift() : undefined
  }
  // Behind the first value of an option that takes several, the command may stand.
  const hasMore = (option: string) =>
    values.get(option) === 'several' && (entries.some(isWord) || !isCommand(left[0]))
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    if (word === '--') entries.push({ option: word }, ...left.splice(0).map((value) => ({ value })))
    else if (!isOption(word)) entries.push({ value: word })
    else {
      for (const [option, glued] of split(word, values)) {
        let value = glued ?? takeValue(option)
        do {
          entries.push({ option, value })
          value = value !== undefined && hasMore(option) ? takeValue(option) : undefined
        } while (value !== undefined)
      }
    }
  }
  const options = entries.filter((each): each is Required<Entry> => !isWord(each) && argOf(each) !== '--')
  const has = (...names: string[]) => options.some(({ option }) => names.includes(option))
  return {
    entries,
    words: entries.filter(isWord).map(({ value = '' }) => value),
    options,
    asksHelp: has('-h', '--help'),
    asksVersion: has('-V', '--version'),
    argv: entries.map(argOf),
  }
}

const argOf = ({ option, value }: Entry) => [option ?? [], value ?? []].flat().join('=')

export const isWord = ({ option }: Entry) => option === undefined

/** A single dash is not an option, and neither is a key that is given in place of its file. */
const isOption = (word: string) => word.startsWith('-') && word !== '-' && !isKey(word)

/** Whether a word is a private key in PEM (RFC 7468), or its first or last line, as far as a shell has not split it. */
export const isKey = (word: string) => /^-----(BEGIN|END)/.test(word)

/** No option is called like a negative number. As a value, it gets a better error message. */
const isNumber = (word: string) => /^-\d+$/.test(word)

/** The options in one word, each with the value attached to it: `--key=a`, `-k=a`, `-ka`, `-vvka`. */
function split(word: string, values: ReadonlyMap<string, Value>): [option: string, glued?: string][] {
  const [, long, value] = /^(--[^=]*)(?:=(.*))?$/s.exec(word) ?? []
  if (long !== undefined) return [value === undefined ? [long] : [long, value]]
  const found: [string, string?][] = []
  for (let rest = word.slice(1); rest !== ''; ) {
    const [letter = ''] = rest
    const option = `-${letter}`
    rest = rest.slice(letter.length)
    // The rest of the word may be the value of an unknown option.
    const mayTake = values.get(option) !== 'none'
    if (rest.startsWith('=')) return [...found, [option, rest.slice(1)]]
    if (rest !== '' && mayTake) return [...found, [option, rest]]
    found.push([option])
  }
  return found
}
