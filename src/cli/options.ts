import { Command } from 'clipanion'

/** Several: all words that follow are values, up to the next option. */
export type Value = 'none' | 'optional' | 'required' | 'several'

export interface OptionDefinition {
  readonly names: readonly string[]
  readonly value: Value
  /** Begins with the name of the value, as in `<KEY>: …` or `<FILE>...: …`, if the option takes one. */
  readonly description: string
}

export interface CommandDefinition {
  readonly name: string
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
  readonly repeatable?: readonly string[]
}

interface ClipanionOption {
  names: string[]
  arity: number
  allowBinding?: boolean
  hidden?: boolean
  description?: string
}

interface Builder {
  addOption(option: ClipanionOption): void
  addPositional(operand: { name: string }): void
}

/** What Clipanion makes of a field that declares an option or an operand. */
interface Declared {
  definition(builder: Builder, field: string): void
}

/** Clipanion gives every command this option, but softsim prints the help itself. */
const HELP: OptionDefinition = { names: ['-h', '--help'], value: 'none', description: 'print this help' }

/**
 * The one table for parsing, usage errors and the help, collected as Clipanion does it. `Cli.definitions()` has
 * it as text, but adds 1.7 ms instead of 0.5 ms to every call of `next`.
 */
export function definitionOf(command: CommandClass): CommandDefinition {
  const options: OptionDefinition[] = []
  const operands: string[] = []
  const builder: Builder = {
    addOption({ names, arity, allowBinding = true, hidden = false, description = '' }) {
      const required = /^<\w+>\.\.\.:/.test(description) ? 'several' : 'required'
      const value = arity > 0 ? required : allowBinding ? 'optional' : 'none'
      // Of a flag that is on by default, only the negation has an effect.
      options.push({ names: hidden ? names.map(negated) : names, value, description })
    },
    addPositional({ name }) {
      operands.push(name)
    },
  }
  for (const [name, field] of declaredIn(new command())) field.definition(builder, name)
  options.push(HELP)
  const { paths, repeatable = [] } = command
  return { name: paths[0]?.[0] ?? '', options, values: valuesOf(options), operands, repeatable }
}

/**
 * A command as Clipanion needs it for a line that gives only these options, with each value attached to its option, as in
 * `-n=5`. For values in words of their own, it would add states to its machine, and to each of them the transitions of
 * all options: 3 % of a call of `next`.
 */
export function forAttachedValues<C extends CommandClass>(command: C, given: readonly string[]): C {
  return new Proxy(command, {
    construct(target) {
      const made = new target()
      for (const [, field] of declaredIn(made)) {
        const { definition } = field
        field.definition = (builder, name) => definition(asFlags(builder, given), name)
      }
      return made
    },
  })
}

/** To Clipanion, a flag may have a value that is attached to it. */
const asFlags = (builder: Builder, given: readonly string[]): Builder => ({
  addOption(option) {
    const isGiven = option.names.some((name) => given.includes(name) || given.includes(negated(name)))
    if (isGiven) builder.addOption({ ...option, arity: 0 })
  },
  addPositional: (operand) => builder.addPositional(operand),
})

/** Clipanion accepts both forms of every flag. */
const negated = (name: string) =>
  name.startsWith('--no-') ? name.replace('no-', '') : name.replace(/^--/, '--no-')

const declaredIn = (command: Command): [string, Declared][] =>
  Object.entries(command).filter(([, field]) => field?.[Command.isOption])

/** Takes a description apart: `<KEY>: the file` becomes `<KEY>` and `the file`. Without a value, the first is empty. */
export function splitDescription(description: string): [value: string, words: string] {
  const [, value = '', words = ''] = /^(?:(\S*<\w+>\S*): )?(.*)$/.exec(description) ?? []
  return [value, words]
}

function valuesOf(options: readonly OptionDefinition[]): Map<string, Value> {
  const values = new Map<string, Value>()
  for (const { names, value } of options) {
    for (const name of names) {
      values.set(name, value)
      if (value === 'none' && name !== '--help' && name.startsWith('--')) values.set(negated(name), value)
    }
  }
  return values
}
