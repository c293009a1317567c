/** What shells offer after the completions of a release are installed. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  bashCompletion,
  fishCompletion,
  powershellCompletion,
  zshCompletion,
} from '../../scripts/manual/completions.ts'
import { commands, topicsOf } from '../../scripts/manual/table.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { bashShell, fishShell, powershells, type Shell, zshShell } from '../support/shells.ts'

const longOptions = (command: string) =>
  commands
    .filter(({ name }) => name === command)
    .flatMap(({ options }) =>
      options.flatMap((option) => option.names.filter((name) => name.startsWith('--'))),
    )

function station(): string {
  const directory = temporaryDirectory()
  for (const name of ['more profiles', 'profiles']) mkdirSync(join(directory, name))
  writeFileSync(join(directory, 'softsim key.pem'), '')
  return directory
}

const FILES = ['more profiles', 'profiles', 'softsim key.pem']
const DIRECTORIES = FILES.slice(0, 2)

const WORDS: [line: string, expected: readonly string[]][] = [
  ['softsim n', ['next']],
  ['softsim help ', topicsOf(commands)],
  ['softsim --v', ['--verbose', '--verbosity', '--version']],
  ['softsim status -i profiles --dev', ['--device', '--devices']],
  ['softsim next --format=', ['hex', 'json', 'raw']],
  ['softsim status --format=', ['csv', 'json', 'text']],
  ['softsim status --format=j', ['json']],
  ['softsim next --format ', ['hex', 'json', 'raw']],
]

/** PowerShell offers its own choice of files here, and reads two dashes alone as the end of the options. */
const MORE: typeof WORDS = [
  ['softsim fetch --', longOptions('fetch')],
  ['softsim next --', longOptions('next')],
  ['softsim next -k ', FILES],
  ['softsim next --key so', ['softsim key.pem']],
  ['softsim next -i ', DIRECTORIES],
  ['softsim fetch --out ', DIRECTORIES],
  ['softsim next -k key.pem -n ', []],
  ['softsim next --device ', []],
]

const SHELLS: [Shell, completion: string, cases: typeof WORDS][] = [
  [bashShell, bashCompletion(commands), [...WORDS, ...MORE]],
  [zshShell, zshCompletion(commands), [...WORDS, ...MORE]],
  [fishShell, fishCompletion(commands), [...WORDS, ...MORE]],
  ...powershells.map((shell) => [shell, powershellCompletion(commands), WORDS] as (typeof SHELLS)[0]),
]

describe.each(SHELLS)('$name', ({ isThere, offered }, completion, cases) => {
  test.skipIf(!isThere).each(cases)('%s', async (line, expected) => {
    const found = await offered(completion, line, station())
    const plain = found.map((word) => word.replace(/^--format=|\/$/g, ''))
    expect(plain.sort()).toEqual([...expected].sort())
  })
})
