/**
 * Splits the command line for Clipanion, because Clipanion 3
 * - does not know `-n5`, nor values that begin with a dash, and takes `-v` for its own version option;
 * - repeats the whole line in its errors, with the API key, and prints them to standard output, which is the device's.
 *
 * What is wrong with a line is found in usage-errors.ts. Clipanion gets a line that it can't refuse.
 */
import { Command, type Option } from 'clipanion'

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

/** Whether an option takes a value. Several: all words that follow are values, up to the next option. */
type Value = 'none' | 'optional' | 'required' | 'several'

export interface OptionDefinition {
  readonly names: readonly string[]
  readonly takes: Value
  /** As in `<KEY>`, `<FILE>...` or `[=<FORMAT>]`; empty if the option takes no value. */
  readonly value: string
  /** What the option is for. */
  readonly words: string
}

export interface CommandDefinition {
  readonly name: string
  readonly description: string
  readonly details?: string | undefined
  readonly examples: readonly (readonly [label: string, command: string])[]
  readonly options: readonly OptionDefinition[]
  /** By option name, including every alias. */
  readonly values: ReadonlyMap<string, Value>
  readonly operands: readonly string[]
  /** The names of the options that may be given several times, each with its own value. */
  readonly repeatable: readonly string[]
}

interface CommandClass {
  new (): Command
  readonly paths: string[][]
  readonly usage: Pick<CommandDefinition, 'description' | 'details' | 'examples'>
  readonly repeatable?: readonly string[]
}

/** What a field of a command is that declares an option or an operand: what Clipanion's `makeCommandOption` takes. */
type Field = Parameters<typeof Option.makeCommandOption>[0]
type Builder = Parameters<Field['definition']>[0]
type ClipanionOption = Parameters<Builder['addOption']>[0]

/** Clipanion gives every command this option, but softsim prints the help itself. */
const HELP: OptionDefinition = { names: ['-h', '--help'], takes: 'none', value: '', words: 'print this help' }

/**
 * The one table for parsing, usage errors and the help, collected as Clipanion does it. `Cli.definitions()` has
 * it as text, but adds 1.7 ms instead of 0.5 ms to every call of `next`.
 */
export function definitionOf(command: CommandClass): CommandDefinition {
  const declared = declaredIn(new command())
  const options = [...declared.flatMap(({ option }) => (option ? definitionOfOption(option) : [])), HELP]
  const operands = declared.flatMap(({ operand }) => operand ?? [])
  const { paths, usage, repeatable = [] } = command
  return { ...usage, name: paths[0]?.[0] ?? '', options, values: valuesOf(options), operands, repeatable }
}

/** The description that Clipanion has begins with the name of the value, as in `<KEY>: the file`, if there is one. */
function definitionOfOption(option: ClipanionOption): OptionDefinition {
  const { names, arity = 0, allowBinding = true, hidden = false, description = '' } = option
  const [, value = '', words = ''] = /^(?:(\S*<\w+>\S*): )?(.*)$/.exec(description) ?? []
  const required = value.endsWith('...') ? 'several' : 'required'
  const takes = arity > 0 ? required : allowBinding ? 'optional' : 'none'
  // Of a flag that is on by default, only the negation has an effect.
  return { names: hidden ? names.map(negated) : names, takes, value, words }
}

/**
 * A command that knows only these of its options: those that are given, each with its value attached, as in `-n=5`. For
 * the others, and for values in words of their own, Clipanion's machine takes 4 % of a call of `next`.
 */
export function withOnly<C extends CommandClass>(given: readonly string[], command: C): C {
  const isGiven = (name: string) => given.includes(name) || given.includes(negated(name))
  return new Proxy(command, {
    construct(target) {
      const made = new target()
      for (const { field, option } of declaredIn(made)) {
        if (option === undefined) continue
        field.definition = (builder) => {
          // To Clipanion, a flag may have a value that is attached to it.
          if (option.names.some(isGiven)) builder.addOption({ ...option, arity: 0 })
        }
      }
      return made
    },
  })
}

/** The fields of a command that declare an option or an operand. */
function declaredIn(command: Command) {
  const fields: Field[] = Object.values(command).filter((field) => field?.[Command.isOption])
  return fields.map((field) => {
    const found: { option?: ClipanionOption; operand?: string | undefined } = {}
    const builder: Pick<Builder, 'addOption' | 'addPositional'> = {
      addOption(option) {
        found.option = option
      },
      addPositional({ name } = {}) {
        found.operand = name
      },
    }
    field.definition(builder as Builder, '')
    return { field, ...found }
  })
}

/** Clipanion accepts both forms of every flag. */
const negated = (name: string) =>
  name.startsWith('--no-') ? name.replace('no-', '') : name.replace(/^--/, '--no-')

function valuesOf(options: readonly OptionDefinition[]): Map<string, Value> {
  const values = new Map<string, Value>()
  for (const { names, takes } of options) {
    for (const name of names) {
      values.set(name, takes)
      if (takes === 'none' && name !== '--help' && name.startsWith('--')) values.set(negated(name), takes)
    }
  }
  return values
}
