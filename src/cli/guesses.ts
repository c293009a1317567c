/** What a user who knows another tool, or who leaves out an option, probably means. */
import type { CommandDefinition } from './options.ts'

/** Options and commands of older versions of the vendor's tool, and their replacements. */
export const RENAMED = new Map([
  ['-e', 'use -u for the URL, -a for the API key and -k for the private key'],
  ['--endpoint', 'use --url'],
  ['-s', 'use -i for the directory of profiles'],
  ['--profiles', 'use --in for the directory of profiles'],
  ['decrypt', 'use next, which decrypts the profiles that it hands out'],
  ['version', 'use softsim --version'],
])

/** Options that other tools have, and the ones that are meant here. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  '--dir': ['--in', '--out'],
  '--directory': ['--in', '--out'],
  '--json': ['--format=json'],
  '--csv': ['--format=csv'],
  '--raw': ['--format=raw'],
  '--serial': ['--device'],
  '--sn': ['--device'],
  '--keyfile': ['--key'],
  '--key-file': ['--key'],
  '--private-key': ['--key'],
  '--from': ['--in'],
  '--to': ['--out'],
  '--input': ['--in'],
  '--in': ['--out'],
  '-i': ['-o'],
  '--output': ['--out'],
}

/** What the options are for that a word without one may belong to, command by command. */
const BARE: Readonly<Record<string, string>> = {
  fetch: 'give the number of profiles with -n, and the directory with -o',
  next: 'give the key with -k, a device with --device, and the directory with -i',
  move: 'give the number of profiles with -n, and the directories with -i and -o',
  restore: 'give the directory with -i, and the receipts with --receipts',
  status: 'give the directory with -i, and the key with -k',
}

/** @returns a hint, if other tools have such an option and these commands have another one for it */
export function fromElsewhere(typed: string, commands: readonly CommandDefinition[]): string | undefined {
  const meant = (ELSEWHERE[typed] ?? []).find((each) => {
    const [name = '', value = ''] = each.split('=')
    const option = commands.flatMap(({ options }) => options).find(({ names }) => names.includes(name))
    return option?.description.includes(value)
  })
  if (meant !== undefined) return `did you mean ${meant}?`
  const [command, another] = commands
  const isOutput = /^(-o|--out|--output)$/.test(typed) && another === undefined
  return isOutput ? `${command?.name} prints to standard output` : undefined
}

/** @returns a hint for a word that belongs to no option */
export function meantByBareWord(
  word: string,
  { name }: CommandDefinition,
  commands: readonly CommandDefinition[],
): string | undefined {
  if (commands.some((each) => each.name === word)) return 'give one command only'
  return BARE[name]
}
