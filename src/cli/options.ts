import { Command } from 'clipanion'

/** Whether a value goes with an option. */
export type Value = 'none' | 'optional' | 'required'

/** An option as a command defines it for Clipanion. */
export interface OptionDefinition {
  /** `-k`, `--key`. */
  readonly names: readonly string[]
  readonly value: Value
  /** Begins with the value's name, `<KEY>: …`, where it takes one. */
  readonly description: string
}

/** What a command takes. */
export interface CommandDefinition {
  readonly name: string
  readonly options: readonly OptionDefinition[]
  /** Every name of an option that it knows. */
  readonly values: ReadonlyMap<string, Value>
  /** What may follow its name, by name. */
  readonly operands: readonly string[]
}

/** A command's class, as Clipanion takes it. */
export interface CommandClass {
  new (): Command
  readonly paths: string[][]
}

/** What an option tells Clipanion of itself. */
interface Told {
  names: string[]
  arity: number
  allowBinding?: boolean
  description?: string
}

/** Every command has it: Clipanion's own, which the program answers in its place. */
const HELP: OptionDefinition = { names: ['-h', '--help'], value: 'none', description: 'print this help' }

/**
 * Asks a command for its options, in the way Clipanion asks: the one table for the command line, the words for what
 * is wrong with it, and the help. `Cli.definitions()` tells the same as text, and takes 1.7 ms instead of 0.5 of each
 * call of `next`.
 */
export function definitionOf(command: CommandClass): CommandDefinition {
  const options: OptionDefinition[] = []
  const operands: string[] = []
  const builder = {
    addOption({ names, arity, allowBinding = true, description = '' }: Told) {
      options.push({ names, value: arity > 0 ? 'required' : allowBinding ? 'optional' : 'none', description })
    },
    addPositional({ name }: { name: string }) {
      operands.push(name)
    },
  }
  for (const [key, field] of Object.entries(new command())) {
    if (field?.[Command.isOption]) field.definition(builder, key)
  }
  options.push(HELP)
  return { name: command.paths[0]?.[0] ?? '', options, values: valuesOf(options), operands }
}

function valuesOf(options: readonly OptionDefinition[]): Map<string, Value> {
  const values = new Map<string, Value>()
  for (const { names, value } of options) {
    for (const name of names) {
      values.set(name, value)
      // Clipanion gives every flag an opposite.
      if (value === 'none' && name !== '--help' && /^--(?!no-)/.test(name)) {
        values.set(`--no-${name.slice(2)}`, value)
      }
    }
  }
  return values
}
