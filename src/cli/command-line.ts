import type { CommandDefinition, Value } from './options.ts'

/** An option on a command line. */
export interface GivenOption {
  /** `-k` or `--key`; whatever begins with a dash where no command has such an option. */
  readonly name: string
  /** undefined where none stands there. */
  readonly value: string | undefined
}

/** A command line, taken apart. */
export interface CommandLine {
  /** The words that belong to no option: the first one names the command. */
  readonly words: readonly string[]
  readonly options: readonly GivenOption[]
  readonly asksHelp: boolean
  readonly asksVersion: boolean
  /** The line with each option in the form that Clipanion reads, `-n=5`, `--format=json`. */
  readonly argv: readonly string[]
}

/**
 * Takes a command line apart by the table of all commands' options: a word is an option's value where that option
 * takes one, whatever it looks like. Nothing is wrong with a line here: what no command knows is kept as it stands.
 * @param typed without the program's own name
 */
export function readArgv(typed: readonly string[], commands: readonly CommandDefinition[]): CommandLine {
  const values = new Map(commands.flatMap(({ values }) => [...values]))
  const words: string[] = []
  const options: GivenOption[] = []
  const argv: string[] = []
  const left = [...typed]
  /** The word behind an option, where it is the option's value. */
  const takeValue = (name: string): string | undefined => {
    const [word] = left
    if (word === undefined || isOption(word)) return undefined
    const value = values.get(name)
    // Behind a bare `--format` may come the command.
    const isValue =
      value === 'required' || (value === 'optional' && !commands.some(({ name }) => name === word))
    return isValue ? left.shift() : undefined
  }
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    if (word === '--') {
      words.push(...left)
      argv.push(word, ...left.splice(0))
    } else if (isOption(word)) {
      for (const [name, glued] of split(word, values)) {
        const value = glued ?? takeValue(name)
        options.push({ name, value })
        argv.push(value === undefined ? name : `${name}=${value}`)
      }
    } else {
      words.push(word)
      argv.push(word)
    }
  }
  const has = (...names: string[]) => options.some(({ name }) => names.includes(name))
  return { words, options, asksHelp: has('-h', '--help'), asksVersion: has('-V', '--version'), argv }
}

/** A single dash is a word. */
const isOption = (word: string) => word.startsWith('-') && word !== '-'

/** The options in one word, each with the value that is glued to it: `--key=a`, `-k=a`, `-ka`, `-vvka`. */
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
    found.push([name])
    // What follows an unknown letter may be its value.
    if (value === undefined) return found
  }
  return found
}
