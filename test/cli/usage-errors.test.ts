import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readArgv } from '../../src/cli/command-line.ts'
import { mistakeIn } from '../../src/cli/usage-errors.ts'
import { commandLine } from '../support/arbitrary.ts'
import { DEFINITIONS } from '../support/commands.ts'

/** What is said of a command line, given as its words or with blanks between them; undefined if it is right. */
function said(line: string | readonly string[], platform: NodeJS.Platform = 'linux'): string | undefined {
  const typed = typeof line === 'string' ? line.split(' ').filter((word) => word !== '') : line
  const failure = mistakeIn(readArgv(typed, DEFINITIONS), DEFINITIONS, platform)
  if (failure === undefined) return undefined
  return `${failure.message} | ${failure.hint}`
}

const IN_QUOTES = 'put a value with spaces in double quotes'
const OF_NEXT = 'give the key with -k, a device with --device, and the directory with -i'
const OF_FETCH = 'give the number of profiles with -n, and the directory with -o'
const EXTRA = 'unexpected argument on the command line | options begin with a dash; see softsim help'
const MISSING = 'no command given | use fetch, next, move, restore, status or help; see softsim help'

test.each([
  ['', MISSING],
  ['fetch -n', '-n needs a value | see softsim help fetch'],
  ['next --key', '--key needs a value | see softsim help next'],
  ['next -vk', '-k needs a value | see softsim help next'],
  ['fetch --help=1', '--help takes no value | see softsim help fetch'],
  ['help SECRET1 x', EXTRA],
  ['help next -k x', 'unknown option -k | it is an option of next; see softsim help'],
  ['fecth', 'unknown command fecth | did you mean fetch? see softsim help'],
  ['next -vx', 'unknown option -x | see softsim help next'],
  ['-vvv', MISSING],
  ['-k x -h', MISSING],
  ['nxet -h', 'unknown command nxet | did you mean next? see softsim help'],
  ['constructor', 'unknown command constructor | see softsim help'],
  ['-v nxet', 'unknown command nxet | did you mean next? see softsim help'],
  // An option value that looks like a command is not the command.
  ['-o next fetch --nope', 'unknown option --nope | see softsim help fetch'],
  ['-i fetch next --nope', 'unknown option --nope | see softsim help next'],
  ['-o next -a fetch', MISSING],
  ['-k fetch nxet', 'unknown command nxet | did you mean next? see softsim help'],
  [
    'next -i help fetch',
    'unexpected argument after the value of -i | give one command only; put a value with spaces in double quotes; see softsim help next',
  ],
])('%s', (typed, expected) => expect(said(typed)).toBe(expected))

describe('options of the other command and of older versions', () => {
  test.each([
    ['fetch -k x', /^unknown option -k \| it is an option of next; see softsim help fetch$/],
    ['fetch -i x', /^unknown option -i \| it is an option of next; did you mean -o\? see /],
    ['fetch --in=x', /^unknown option --in \| it is an option of next; did you mean --out\? see /],
    [
      'next -o x',
      /^unknown option -o \| it is an option of fetch; this command prints to standard output; see /,
    ],
    [
      'next --out=x',
      /^unknown option --out \| it is an option of fetch; this command prints to standard output; see /,
    ],
    ['fetch -e http://localhost', /^unknown option -e \| use -u for the URL, .* -k for the private key; /],
    ['next -ekey.pem', /^unknown option -e \| use -u for the URL, .* -k for the private key; /],
    ['-e http://localhost fetch', /^unknown option -e \| /],
    ['fetch --endpoint=http://localhost', /^unknown option --endpoint \| .*--url/],
    ['decrypt -k x -s profiles', /^unknown command decrypt \| use next, which decrypts/],
  ])('%s', (typed, expected) => expect(said(typed)).toMatch(expected))
})

describe('options of other tools', () => {
  test.each([
    ['--json', 'unknown option --json | did you mean --format=json? see'],
    ['status --csv', 'unknown option --csv | did you mean --format=csv? see'],
    ['next --csv', 'unknown option --csv | see'],
    ['next --raw', 'unknown option --raw | did you mean --format=raw? see'],
    ['fetch --json', 'unknown option --json | see'],
    ['next --serial SECRET1', 'unknown option --serial | did you mean --device? see'],
    ['next --dir=x', 'unknown option --dir | did you mean --in? see'],
    ['fetch --dir=x', 'unknown option --dir | did you mean --out? see'],
    ['next --directory=x', 'unknown option --directory | did you mean --in? see'],
    ['fetch --directory=x', 'unknown option --directory | did you mean --out? see'],
    ['next --keyfile=x', 'unknown option --keyfile | did you mean --key? see'],
    ['next --key-file=x', 'unknown option --key-file | did you mean --key? see'],
    ['next --private-key=x', 'unknown option --private-key | next and status take its file, with --key; see'],
    ['next --serial-number=x', 'unknown option --serial-number | did you mean --device? see'],
    ['fetch --keyfile=x', 'unknown option --keyfile | see'],
    ['status --k x', 'unknown option --k | did you mean -k? see'],
    ['fetch --n=5', 'unknown option --n | did you mean -n? see'],
    ['fetch --output=x', 'unknown option --output | did you mean --out? see'],
    ['status --output=x', 'unknown option --output | this command prints to standard output; see'],
    ['next --input=x', 'unknown option --input | did you mean --in? see'],
    ['version', 'unknown command version | use softsim --version; see'],
  ])('%s', (typed, expected) => expect(said(typed)).toContain(expected))
})

test('a private key as the value of another option is not taken for a name, which messages repeat', () => {
  const pem = '-----BEGIN RSA PRIVATE KEY-----\nSECRET1'
  for (const option of ['-i', '--in', '--device', '--receipt', '--iccid']) {
    for (const typed of [[option, pem], [option.length > 2 ? `${option}=${pem}` : option + pem]]) {
      expect(said(['next', '-k', 'x', ...typed])).toMatch(
        /^the value of --?[a-z]+ looks like a private key \| only softsim next and softsim status take the key: as a file, with -k; see /,
      )
    }
  }
})

describe('a slip of the fingers', () => {
  test.each([
    ['next --recipt=x', 'unknown option --recipt | did you mean --receipt?'],
    ['next --iccdi 1', 'unknown option --iccdi | did you mean --iccid?'],
    ['next --dev x', 'unknown option --dev | did you mean --device?'],
    ['next -K x', 'unknown option -K | did you mean -k?'],
    ['next --KEY=x', 'unknown option --... | did you mean --key?'],
    ['fetch --api-kye SECRET1', 'unknown option --api-kye | did you mean --api-key?'],
    ['--cuont 5', 'unknown option --cuont | did you mean --count?'],
    ['NEXT', 'unknown command | did you mean next?'],
    ['ftech', 'unknown command ftech | did you mean fetch?'],
    ['fet', 'unknown command fet | did you mean fetch?'],
    ['next -device SECRET1', 'unknown option -d | did you mean --device?'],
    ['fetch -count=5', 'unknown option -c | did you mean --count?'],
    ['next -iccid 1', 'unexpected argument after the value of -i | did you mean --iccid?'],
    ['fetch -out x', 'unexpected argument after the value of -o | did you mean --out?'],
  ])('%s', (typed, expected) =>
    expect(said(typed)).toContain(`${expected}${expected.endsWith('?') ? '' : ';'} see softsim help`),
  )

  test('that is like nothing gets no suggestion', () => {
    for (const typed of ['delete', 'x', 'next --frobnicate', 'next -x'])
      expect(said(typed)).not.toContain('mean')
  })
})

describe('an argument too many: the message says where, and never repeats it', () => {
  test.each([
    ['next SECRET1', `after next | ${OF_NEXT}; see`],
    ['next -k my SECRET1', `after the value of -k | ${OF_NEXT}; ${IN_QUOTES}`],
    ['next --in=my SECRET1', `after the value of --in | ${OF_NEXT}; ${IN_QUOTES}`],
    ['next -n 8 SECRET1', `after the value of -n | ${OF_NEXT}; see`],
    ['next -k x --smsp SECRET1', `after --smsp | ${OF_NEXT}`],
    ['next -k -----BEGIN SECRET1 -----END', 'after the value of -k | -k takes the file of the key'],
    ['fetch -- -SECRET1', `after -- | ${OF_FETCH}`],
    ['fetch -a x SECRET1', `; ${IN_QUOTES}`],
    ['fetch SECRET1', `after fetch | ${OF_FETCH}; see`],
    ['fetch -n5 next -v', 'after the value of -n | give one command only; see'],
    ['status SECRET1', 'after status | give the directory with -i, and the key with -k; see'],
    ['help next SECRET1', 'on the command line | options begin with a dash; see'],
    ['next key=SECRET1', 'after next | did you mean --key?'],
    ['fetch cuont 5', 'after fetch | did you mean --count?'],
    ['next \u2013k x', 'after next | an option begins with a hyphen (-)'],
  ])('%s', (typed, expected) => {
    expect(said(typed)).toMatch(/^unexpected argument /)
    expect(said(typed)).toContain(expected)
    expect(said(typed)).not.toContain('SECRET')
  })

  test('a command line pasted with long dashes', () =>
    expect(said('\u2014help')).toMatch(/^unknown command \| .* a longer dash;/))
})

describe('an option given twice', () => {
  test.each([
    ['next -k a -k b', '-k'],
    ['next -k=a --key=b', '--key'],
    ['--in a next -ib', '-i'],
    ['fetch -n 1 -n 1', '-n'],
    ['next --format --format=json', '--format'],
  ])('%s', (typed, name) =>
    expect(said(typed)).toMatch(new RegExp(`^${name} is given more than once \\| give it once; see `)),
  )

  test('is right where each value counts, or where nothing depends on it', () => {
    const right = ['next --device a --device b', 'next -v -vv --verbosity', 'next --smsp --smsp --crc']
    for (const line of right) expect(said(line), line).toBeUndefined()
  })
})

test.each(['status\r', 'next --crc\r', 'fetch x\r'])('a script with Windows line ends: %j', (line) =>
  expect(said(line)).toContain(' | a word ends in a carriage return: the script has Windows line ends; see '),
)

test('next takes -h and -V alone', () => {
  for (const right of ['next -h', '-V next', 'next --help']) expect(said(right)).toBeUndefined()
  const wrong = ['-v -h next', 'next -k x -h', 'next -hV', 'next -h more', 'next -h --', '-i fetch next -V']
  for (const each of [...wrong, 'next -k x --help=1', '-i help next -V', '--in=fetch -h next'])
    expect(said(each), each).toMatch(/^next accepts -h and -V only on their own: /)
})

test('on Windows, a double quote in a value gets a hint about the trailing backslash', () => {
  const typed = ['next', '-i', 'C:\\my profiles" -k key.pem']
  const actual = said(typed, 'win32')
  expect(actual).toMatch(/^the value of -i contains a double quote \| .*without a backslash at the end/)
  expect(said(['next', '-k=x', `--in=${typed[2]}`], 'win32')).toMatch(
    /^the value of --in contains a double quote/,
  )
  expect(said(typed, 'linux')).toBeUndefined()
})

test('the message does not repeat a word that looks like a key', () => {
  for (const word of ['SECRET1234', 'secret1234', 'a'.repeat(40), '\u001b[31m']) {
    expect(said([word])).toBe('unknown command | see softsim help')
  }
})

test('any command line is accepted, or refused in one line', () => {
  const any = fc.oneof(commandLine, fc.array(fc.string({ unit: 'binary' }), { maxLength: 6 }))
  fc.assert(
    fc.property(any, fc.constantFrom<NodeJS.Platform>('linux', 'win32'), (typed, platform) => {
      expect(said(typed, platform) ?? '').not.toMatch(/[\r\n]/)
    }),
  )
})
