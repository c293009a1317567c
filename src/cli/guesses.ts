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
  '--hex': ['--format=hex'],
  '--serial': ['--device'],
  '--serial-number': ['--device'],
  '--sn': ['--device'],
  '--keyfile': ['--key'],
  '--key-file': ['--key'],
  '--key-path': ['--key'],
  '--private-key': ['--key'],
  '--pem': ['--key'],
  '--from': ['--in'],
  '--to': ['--out'],
  '--input': ['--in'],
  '--in': ['--out'],
  '-i': ['-o'],
  '--output': ['--out'],
}

type Guess = readonly [word: RegExp, hint: string]

const ICCID: Guess = [/^\d{19,20}F?$/i, 'give an ICCID with --iccid']

const KEY_FILE: Guess = [/\.(pem|der|key|p8|pub)$/i, 'give the file of the key with -k']

/** What a word without an option is likely to be, command by command. */
const BARE: Readonly<Record<string, readonly Guess[]>> = {
  fetch: [
    [/^\d{1,9}$/, 'give the number of profiles with -n, for example: -n 100'],
    [/^/, 'give the directory with -o, for example: -o profiles'],
  ],
  next: [
    KEY_FILE,
    ICCID,
    [/^/, 'give the serial number of a device with --device, and the directory with -i'],
  ],
  move: [
    [/^\d{1,9}$/, 'give the number of profiles with -n, for example: -n 100'],
    [/^/, 'give the directories with -i and -o, for example: -i profiles -o station-2'],
  ],
  status: [KEY_FILE, ICCID, [/^/, 'give the directory with -i, for example: -i profiles']],
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
  return BARE[name]?.find(([form]) => form.test(word))?.[1]
}
