import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { BaseCommand, Context } from '../../src/cli/commands/options.ts'
import { Report } from '../../src/cli/report.ts'
import { commandsFor, parse } from '../../src/cli/run.ts'
import { UsageError } from '../../src/failure.ts'

const commands = await commandsFor()

/** What a command line, with a blank between its words, becomes. */
function parsed(line: string | readonly string[], env: NodeJS.ProcessEnv = {}): object {
  const argv = typeof line === 'string' ? line.split(' ').filter(Boolean) : line
  const context: Context = { report: new Report(() => {}), version: '1.2.3', commands, env, umask: 0o022 }
  return parse(argv, context)
}

function refused(line: string | readonly string[], env: NodeJS.ProcessEnv = {}): string {
  try {
    parsed(line, env)
  } catch (error) {
    if (error instanceof UsageError) return `${error.message} | ${error.hint}`
    throw error
  }
  throw new Error(`taken: ${line}`)
}

describe('what is taken', () => {
  test.each([
    ['next -k a.pem -n 5', { key: 'a.pem', count: 5 }],
    ['next -n=5 --key=a.pem', { key: 'a.pem', count: 5 }],
    ['-vv -k a.pem next -v', { key: 'a.pem', verbosity: 3 }],
    ['next -k - --format json', { key: '-', format: 'json' }],
    ['next --device A --device=B', { devices: ['A', 'B'] }],
    ['next --iccid 8988000000000000017F', { iccid: '8988000000000000017' }],
    ['next --new --no-crc', { new: true, noCrc: true, noSmsc: false }],
    ['fetch -n 08 -a=-key-', { count: 8, apiKey: '-key-' }],
    ['fetch --stock 150', { stock: 150, count: undefined }],
    ['fetch -n 999999999', { count: 999_999_999 }],
    ['next -n 1 --receipt /devices/r.jsonl', { count: 1, receipt: '/devices/r.jsonl' }],
    ['next --receipt=-r.jsonl=1', { receipt: '-r.jsonl=1' }],
    [['next', '-i', 'my profiles', '--key=a=b c.pem'], { directory: 'my profiles', key: 'a=b c.pem' }],
    ['restore --receipts a --receipts b', { receipts: ['a', 'b'] }],
    ['status --device 42 --passed', { device: ['42'], passed: true }],
    ['help next', { topic: 'next' }],
  ] as [string | string[], object][])('%s', (line, expected) => expect(parsed(line)).toMatchObject(expected))

  test('the variable stands for the option, the option wins, and an empty variable is not set', () => {
    const env = { SOFTSIM_KEY_FILE: 'v.pem', SOFTSIM_DIR: '' }
    expect(parsed('next', env)).toMatchObject({ key: 'v.pem', directory: undefined })
    expect(parsed('next -k o.pem', env)).toMatchObject({ key: 'o.pem' })
  })
})

describe('what is refused', () => {
  test.each([
    ['', /^no command given \| use fetch, next, .*; see softsim help$/],
    ['-v', /^no command given/],
    ['nxet', /^unknown command \| use fetch, next, /],
    ['-k a.pem nxet', /^no command given/],
    [
      'next -x',
      /^unknown option: word 2 after softsim \| see softsim help next; a value is a word of its own: -n 5$/,
    ],
    ['next --coutn 5', /^unknown option: word 2 /],
    ['next -n5', /^unknown option: word 2 .*-n 5$/],
    ['status --since today', /^unknown option: word 2 /],
    ['next -k', /^-k needs a value/],
    ['next -k -n 5', /^-k needs a value \| .*-k=VALUE$/],
    ['next -vk a.pem', /^unexpected word: word 3 /],
    ['next -vk', /^-k needs a value \| give it as a word of its own: -k VALUE$/],
    ['next -k a -k b', /^-k is given twice \| give it once$/],
    ['next -k a --key b', /^--key is given twice/],
    ['next -k a -k a', /^-k is given twice/],
    ['station --timeout 5 --timeout 6', /^--timeout is given twice/],
    [
      'next a.pem',
      /^unexpected word: word 2 after softsim \| see softsim help next; options begin with -, and a value with spaces stands in quotes$/,
    ],
    ['next -i a a', /^unexpected word: word 4 /],
    ['help next fetch', /^unexpected word: word 3 /],
    ...[
      'fetch -n 0',
      'next -n=-5',
      'next -n 1.5',
      'fetch -n 1000000000',
      ['fetch', '-n', '5\r'],
      ['next', '-n', ''],
    ].map(
      (line) =>
        [line, /^the value of -n is not a whole number from 1 to 999999999 \| for example: -n 100$/] as const,
    ),
    ['fetch --stock 1.5', /^the value of --stock is not a whole number/],
    ['next --format js', /^the value of --format is not hex, json or raw \| for example: --format raw$/],
    ['status --format raw', /^the value of --format is not text, json or csv \| for example: --format csv$/],
    ['next --format HEX', /^the value of --format is not hex, json or raw/],
    ['next --format xml', /^the value of --format is not hex, json or raw/],
    ...[['next', '--iccid', '8988 -n 2'], 'next --iccid ../x', 'next --iccid 123'].map(
      (line) => [line, /^the value of --iccid is not 18 to 20 digits/] as const,
    ),
    [['next', '-i', 'profiles '], /^the value of -i begins or ends with a blank/],
    [['fetch', '-a', 'two words'], /^the value of -a has a space or .* \| the service takes the key alone, /],
    [['fetch', '-a', 'line\nbreak'], /^the value of -a has a line break in it/],
    ['fetch -a "key1"', /^the value of -a has quotes in it \| remove them; /],
    [
      ['fetch', '-a', 'Authorization: key1'],
      /^the value of -a begins with "Authorization" \| the service takes /,
    ],
    [['status', '-k', '-----BEGIN KEY-----'], /^-k needs a value \| .*-k=VALUE$/],
    ['station --panel 0', /^the value of --panel is not a whole number/],
    ['station --baud 9600x', /^the value of --baud is not a whole number/],
    ['station --read ICCID', /^--read has no \(\.\.\.\) around the ICCID/],
    ['station --read ((', /^the value of --read is not a regular expression/],
    ['next --receipt -', /^--receipt needs the name of a file on a disk \| such as receipt.jsonl$/],
    ['next --receipt /proc/self/fd/1', /^--receipt needs the name of a file/],
    ['move --receipt /dev/tty', /^--receipt needs the name of a file/],
    ['next --receipt /dev/stdout', /^--receipt needs the name of a file/],
    ['fetch -a Bearer:x', /^the value of -a begins with "Bearer"/],
    [['fetch', '-a', 'Token x'], /^the value of -a begins with "Token"/],
  ] as const)('%s', (line, expected) => expect(refused(line)).toMatch(expected))

  test('nothing of the line is repeated, but what softsim itself has named', () => {
    const word = fc.constantFrom('next', 'fetch', '-a', '-k', '-n', '--in', '-vv', '--', '-', '5', '=')
    const secret = fc.constantFrom('SECRET', '-SECRET', '--SECRET=SECRET', '"SECRET', 'SECRET\n', '$SECRET')
    const glued = fc
      .tuple(fc.constantFrom('-a', '-a=', '--api-key=', '--in='), secret)
      .map((all) => all.join(''))
    const line = fc.array(fc.oneof(word, secret, glued), { maxLength: 6 })
    fc.assert(
      fc.property(line, (argv) => {
        let said = ''
        try {
          parsed(argv)
        } catch (error) {
          said = `${error} ${(error as UsageError).hint}`
        }
        expect(said).not.toMatch(/SECRET|\n/)
      }),
    )
  })
})

const HOME = 'C:\\Users\\me'

test.each([
  ['"r.jsonl"', 'has quotes in it'],
  ["'r.jsonl'", 'has quotes in it'],
  ['\u201cr.jsonl\u201d', 'has quotes in it'],
  ['C:\\my receipts" -k a.pem', 'has quotes in it'],
  ['r.jsonl\r', 'has a line break in it'],
  ['r.jsonl ', 'begins or ends with a blank'],
  ['\tr.jsonl', 'begins or ends with a blank'],
  ['r\u0007.jsonl', 'has a control character in it'],
  ['~/r.jsonl', 'begins with ~'],
  ['~', 'begins with ~'],
  ['~me/r.jsonl', 'begins with ~'],
  ['$HOME/r.jsonl', 'has a variable in it'],
  ['/data/\u0024{LINE}.jsonl', 'has a variable in it'],
  ['$(pwd)/r.jsonl', 'has a variable in it'],
  ['$env:USERPROFILE\\r.jsonl', 'has a variable in it'],
  ['%USERPROFILE%\\r.jsonl', 'has a variable in it'],
  ['!LINE!.jsonl', 'has a variable in it'],
  ['$1/r.jsonl', 'has a variable in it'],
  ['%~dp0r.jsonl', 'has a variable in it'],
  ['%1', 'has a variable in it'],
  ['%%A.jsonl', 'has a variable in it'],
  ['r.jsonl # of line 1', 'has a comment in it'],
  ['{{ receipts }}/r.jsonl', 'has a variable in it'],
  ['-----BEGIN PRIVATE KEY-----', 'is a key, not the name of a file'],
])('a damaged value of an option or a variable: %s', (text, words) => {
  expect(refused(['next', `--receipt=${text}`])).toMatch(
    RegExp(`^the value of --receipt ${words}.*--receipt /data/`),
  )
  expect(refused('next', { SOFTSIM_RECEIPT: text })).toMatch(
    RegExp(`^the value of SOFTSIM_RECEIPT ${words}.*SOFTSIM_RECEIPT=/data/receipt.jsonl$`),
  )
  for (const variable of ['SOFTSIM_DIR', 'SOFTSIM_KEY_FILE'])
    expect(refused('next', { [variable]: text })).toContain(`the value of ${variable} ${words}`)
  for (const variable of ['SOFTSIM_API_KEY', 'SOFTSIM_DIR', 'SOFTSIM_URL'])
    expect(refused('fetch', { [variable]: text })).toContain(`the value of ${variable} ${words}`)
})

test.each([
  ['', 'is empty', 'perhaps a variable is not set'],
  ['-----END PRIVATE KEY-----', 'is a key, not the name of a file', 'save it to a file, and name that'],
  ['a\nb', 'has a line break in it', 'save the script or the file of variables with line ends of Unix'],
  [' a', 'begins or ends with a blank', 'remove it'],
  ['a\u001bb', 'has a control character in it', 'enter it again'],
  [
    '"a"',
    'has quotes in it',
    'remove them; an env file takes a value without quotes, and cmd reads \\" as a quote',
  ],
  ['a # b', 'has a comment in it', 'in an env file, a comment is a line of its own'],
  ['~', 'begins with ~', 'a shell replaces it only where a word begins'],
  [
    '$HOME',
    'has a variable in it that nothing has replaced',
    'it may not be set, or stand in single quotes or in an env file: give its value',
  ],
])('the remedy for %j: %s, %s', (text, words, remedy) => {
  expect(refused(['next', `-k=${text}`])).toBe(
    `the value of -k ${words} | ${remedy}; for example: -k /data/softsim.pem`,
  )
  expect(refused(['station', `--port=${text}`])).toBe(
    `the value of --port ${words} | ${remedy}; for example: --port /dev/ttyUSB0`,
  )
})

test('an example of a value is one of its own kind', () => {
  const exampleOf = (option: string, command: string) =>
    refused([command, `${option}=~`]).split('example: ')[1]
  const kinds: [option: string, command: string, example: string][] = [
    ['-i', 'next', '/data/profiles'],
    ['-o', 'fetch', '/data/profiles'],
    ['-o', 'move', '/data/profiles'],
    ['-u', 'fetch', 'https://api.onomondo.com/sims/profiles'],
    ['-a', 'fetch', '...'],
    ['-k', 'status', '/data/softsim.pem'],
    ['--receipt', 'station', '/data/receipt.jsonl'],
    ['--receipts', 'restore', 'receipts'],
    ['--program', 'station', './program-device'],
  ]
  for (const [option, command, example] of kinds)
    expect(exampleOf(option, command)).toBe(`${option} ${example}`)
})

test.each([
  'r.jsonl',
  './~r',
  '/a/r $5.jsonl',
  '\\\\server\\c$\\r',
  `${HOME}\\50% r`,
  "O'Neil/r",
  'r (2).jsonl',
  'Lot #5/r.jsonl',
  '/dev/shm/r.jsonl',
])('%s is a name', (text) => expect(parsed(['next', '--receipt', text])).toMatchObject({ receipt: text }))

test('an address may have escapes in it', () => {
  const url = 'https://service.example/%C3%A4%C3%B6?a=1'
  expect(parsed(['fetch', '-u', url]) as BaseCommand).toMatchObject({ url })
})
