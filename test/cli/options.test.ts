import { Cli } from 'clipanion'
import { expect, test } from 'vitest'
import { COMMANDS } from '../../src/cli/commands/all.ts'
import { DEFINITIONS } from '../support/commands.ts'

const definitions = Cli.from(COMMANDS, { binaryName: 'softsim' }).definitions()

test.each(DEFINITIONS.map((definition, at) => ({ ...definition, at })))(
  'the options of $name match those that Clipanion reports',
  ({ options, operands, at }) => {
    const told = options
      // Clipanion hides what is on by default, and each option has a negation.
      .filter(({ names }) => !names.some((name) => name === '--help' || name.startsWith('--no-')))
      .map(({ names, value }) => names.join(',') + (/^(required|several)$/.test(value) ? ' #0' : ''))
    expect(told).toEqual(definitions[at]?.options.map(({ definition }) => definition))
    for (const name of operands) expect(definitions[at]?.usage).toContain(`[${name}]`)
  },
)

test('no option takes a value in one command and none in another', () => {
  const kinds = new Map<string, Set<string>>()
  for (const [name, value] of DEFINITIONS.flatMap(({ values }) => [...values])) {
    kinds.set(name, (kinds.get(name) ?? new Set()).add(value))
  }
  for (const [name, values] of kinds) expect([...values], name).toHaveLength(1)
})
