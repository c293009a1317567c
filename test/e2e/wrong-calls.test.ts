import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { directoryOf, namesIn, someProfiles, temporaryDirectory } from '../support/directory.ts'
import { failure, lines } from '../support/promises.ts'
import { softsim } from '../support/softsim.ts'
import { hasPosix, isWindows } from '../support/system.ts'

const { privateKeyPath: KEY, privateKey: PEM, publicKey } = inject('keys')
const profiles = directoryOf(someProfiles(2))
const cwd = temporaryDirectory()
writeFileSync(join(cwd, 'public.pem'), publicKey)
writeFileSync(join(cwd, 'a-file'), '')
mkdirSync(join(cwd, 'a-directory'))
mkdirSync(join(cwd, 'lots/a'), { recursive: true })
mkdirSync(join(cwd, 'lots/b'))
writeFileSync(join(cwd, 'lots/b/8988000000000000017.json'), '')

/** What is given after `softsim`, and the exit code it must end with. */
const WRONG: [code: number, ...argv: string[]][] = [
  [2],
  [2, ''],
  [2, 'nxet'],
  [2, '--nope'],
  [2, '-k', KEY, '-i', profiles],
  [2, 'help', 'nothing'],
  [2, 'fetch'],
  [2, 'fetch', '-a'],
  [2, 'fetch', '-a', ''],
  [2, 'fetch', '-a', 'two words'],
  [2, 'fetch', '-a', 'line\nbreak'],
  [2, 'fetch', '-a', 'key1', '-n', '0'],
  [2, 'fetch', '-a', 'key1', '-n', '-5'],
  [2, 'fetch', '-a', 'key1', '-n=-5'],
  [2, 'fetch', '-a', 'key1', '-n', '1.5'],
  [2, 'fetch', '-a', 'key1', '-n', '1e3'],
  [2, 'fetch', '-a', 'key1', '-n', '5x'],
  [2, 'fetch', '-a', 'key1', '-n', ' 5'],
  [2, 'fetch', '-a', 'key1', '-n', ''],
  [2, 'fetch', '-a', 'key1', '-n', '99999999999999999999'],
  [2, 'fetch', '-a', 'key1', '--count'],
  [2, 'fetch', '-a', 'key1', '-u', 'http://example.com/sims/profiles'],
  [2, 'fetch', '-a', 'key1', '-u', 'example.com'],
  [2, 'fetch', '-a', 'key1', '-u', 'ftp://127.0.0.1/x'],
  [2, 'fetch', '-a', 'key1', '-u', 'https://user:password@127.0.0.1/'],
  [2, 'fetch', '-a', 'key1', 'more'],
  [2, 'fetch', '-a', 'key1', '--', 'more'],
  [2, 'fetch', '-a', 'key1', '--format=json'],
  [2, 'fetch', '-a', 'key1', '-k', KEY],
  [9, 'fetch', '-a', 'key1', '-o', 'a-file', '-u', 'http://127.0.0.1:1/'],
  [9, 'fetch', '-a', 'key1', '-o', 'a-file/deeper', '-u', 'http://127.0.0.1:1/'],
  [2, 'next'],
  [2, 'next', '-i', profiles],
  [2, 'next', '-k'],
  [2, 'next', '-k', KEY, '-i', profiles, '--nope'],
  [2, 'next', '-k', KEY, '-i', profiles, '-x'],
  [2, 'next', '-k', KEY, '-i', profiles, 'more'],
  [2, 'next', '-k', KEY, '-i', profiles, '--format=xml'],
  [2, 'next', '-k', KEY, '-i', profiles, '--format='],
  [2, 'next', '-k', KEY, '-i', profiles, '--format', 'xml'],
  [2, 'next', '-k', KEY, '-i', profiles, '--crc=yes'],
  [2, 'next', '-k', KEY, '-i', profiles, '--no-crc=yes'],
  [2, 'next', '-k', KEY, '-i', profiles, '-a', 'key1'],
  [2, 'next', '-k', KEY, '-i', profiles, '-n', '0'],
  [2, 'next', '-k', KEY, '-i', profiles, '--iccid', '../x'],
  [2, 'next', '-k', KEY, '-i', profiles, '--iccid', '8988', '-n', '2'],
  [2, 'next', '-k', KEY, '-i', profiles, '-n', '1000000000'],
  [2, 'next', '-k', KEY, '-i', profiles, '-n', '01'],
  [2, 'status', '-i', profiles, '-n', '1'],
  [2, 'status', '-i', profiles, '--devices', '-k', KEY],
  [2, 'status', '-i', profiles, '--devices', '-n', '1'],
  [3, 'next', '-k', KEY, '-i', 'missing', '--device', '\u{1d400}'.repeat(128)],
  [2, 'next', '-k', KEY, '-i', 'missing', '--device', '\u{1d400}'.repeat(129)],
  [3, 'next', '-k', KEY, '-i', 'missing'],
  [3, 'next', '-k', KEY, '-i', 'a-directory'],
  [2, 'next', '-k', KEY, '-i', profiles, '--iccid', '123'],
  [2, 'next', '-k', KEY, '-i', profiles, '--iccid', '123456789012345678F'],
  [3, 'next', '-k', KEY, '-i', profiles, '--iccid', '8988000000000000000'],
  [3, 'next', '-k', KEY, '-i', profiles, '-n', '3'],
  [4, 'next', '-k', 'missing.pem', '-i', profiles],
  [4, 'next', '-k', 'a-file', '-i', profiles],
  [4, 'next', '-k', 'a-directory', '-i', profiles],
  [4, 'next', '-k', 'public.pem', '-i', profiles],
  [2, 'next', '-k', '', '-i', profiles],
  [2, 'next', '-k', KEY, '-i', ''],
  [2, 'fetch', '-a', 'key1', '-o', '', '-u', 'http://127.0.0.1:1/'],
]

test.concurrent.each(WRONG.map(([code, ...argv]) => ({ code, argv })))(
  '$code: softsim $argv',
  async ({ code, argv }) => {
    const run = await softsim(argv, { cwd })
    expect(run).toMatchObject({ code, signal: null, stdout: '' })
    const [why, ...rest] = lines(run.stderr)
    expect(why).toMatch(/^softsim: error: [^A-Z\s].*[^.]$/)
    // On Windows, a hint for cmd and one for PowerShell.
    expect(rest.length).toBeGreaterThanOrEqual(1)
    expect(rest.length).toBeLessThanOrEqual(isWindows ? 2 : 1)
    for (const line of rest) expect(line).toMatch(/^softsim: hint: ./)
    expect(run.stderr).not.toMatch(/\bat .*:\d+:\d+|Error:|node:/)
  },
)

/** The line that says what is wrong, and the one that says what to do. */
test.each<[string[], error: string, hint: RegExp]>([
  [
    ['fetch', '-a', 'key1', '-n', '-1'],
    'the value of -n (--count) is not a whole number from 1 to 999999999',
    /^for example: -n 100$/,
  ],
  [['fetch', '-a', ''], 'the value of --api-key is empty', /variable is not set$/],
  [
    ['help', 'foo'],
    'unknown command foo',
    /^use fetch, next, move, restore, status or help; see softsim help$/,
  ],
  [
    ['help', 'SECRET1'],
    'unknown command',
    /^use fetch, next, move, restore, status or help; see softsim help$/,
  ],
  [['help', 'nxet'], 'unknown command nxet', /^did you mean softsim help next\?$/],
  [['fetch'], 'fetch needs an API key', /^set it: .*SOFTSIM_API_KEY/],
  [
    ['next', '-k', KEY, '--iccid', '123'],
    'the value of --iccid is not 19 or 20 digits',
    /^give the whole ICCID, as in the name of the file$/,
  ],
  ...(['next', 'status'] as const).map((command): [string[], string, RegExp] => [
    [command, '-k', KEY, '-i', 'missing'],
    'directory missing does not exist',
    /^check -i, which stands for .+[\\/]missing, and that the (disk|drive) is /,
  ]),
  ...(['next', 'status'] as const).map((command): [string[], string, RegExp] => [
    [command, '-k', KEY, '-i', 'lots'],
    'no unused profile in lots',
    /^did you mean -i lots[\\/]b\?$/,
  ]),
  ...['%SN%', '$SN', '\u0024{SN}', '{serial}', '<serial>', '!SN!'].map(
    (serial): [string[], string, RegExp] => [
      ['next', '-k', KEY, '-i', profiles, '--device', serial],
      `the value of --device is ${serial}: a variable that was not replaced`,
      /^check how the script writes variables; /,
    ],
  ),
  [
    ['next', '-k', KEY, '-i', profiles, '--device', ' NoRead\r\n'],
    'the value of --device is NoRead: the scanner has read nothing',
    /^scan the device again$/,
  ],
  [
    ['next', '-k', KEY, '-i', profiles, '--device', 'SN-80; SN-81'],
    'the value of --device is SN-80; SN-81: a list of serial numbers',
    /^write --device SN-80 --device SN-81$/,
  ],
  [
    ['next', '-k', KEY, '-i', profiles, '--device', '“SN-80”'],
    'the value of --device is “SN-80”: in quotation marks',
    /^write --device SN-80$/,
  ],
  ...['8988000000000000017.json', '__8988000000000000017.json', 'lots/8988000000000000017F.json'].map(
    (path): [string[], string, RegExp] => [
      ['next', '-k', KEY, '-i', profiles, '--receipt', path],
      `${path}: a receipt can't have the name of a profile`,
      /^name a file such as receipt\.jsonl; nothing was claimed$/,
    ],
  ),
  [
    ['next', '-k', KEY, '-i', profiles, '--receipt', 'receipt.jsonl\r'],
    'the name of the receipt ends in a carriage return: the script has Windows line ends',
    /^for example: --receipt receipt\.jsonl$/,
  ],
  [
    ['next', '-k', KEY, '--device', 'A', '--device', 'B', '--device', 'A'],
    '--device names the same device twice: A',
    /^give each serial number once$/,
  ],
  [
    ['next', '-k', KEY, '--device', 'A', '--device', 'B', '--iccid', '8988000000000000017'],
    '--iccid is for one device',
    /^give --device once$/,
  ],
  [
    ['next', '-k', KEY, '--device', 'A', '-n', '2'],
    "--device can't be used together with --count",
    /^for a panel of devices, repeat --device$/,
  ],
  [['fetch', '-a', '"key1"'], 'the API key stands in quotation marks', /^remove them; set it: .*KEY/],
  [
    ['fetch', '-a', 'Bearer key1'],
    'the API key begins with "Bearer"',
    /^the service takes the key alone; set/,
  ],
  [['fetch', '-a', 'Authorization: key1'], 'the API key begins with "Authorization"', /^the service takes /],
  [
    ['fetch', '-a', 'key 1'],
    'the API key contains a space, a control character or a non-ASCII character',
    /^set/,
  ],
  [['fetch', '-a', ' \r\n'], 'the value of --api-key is empty', /^give a value; /],
  [
    ['fetch', '-a', 'key1', '-u', 'api.onomondo.com'],
    'the value of --url is not an http or https URL',
    /^did you mean https:\/\/api\.onomondo\.com\/sims\/profiles\?$/,
  ],
  [
    ['fetch', '-a', 'key1', '-u', 'host.example:8443/sims/other'],
    'the value of --url is not an http or https URL',
    /^did you mean https:\/\/host\.example:8443\/sims\/other\?$/,
  ],
  [
    ['fetch', '-a', 'key1', '-u', 'eyJhbGciOi.eyJzdWIiOi.SflKxwRJSMeKKF2QT4fwpM'],
    'the value of --url is not an http or https URL',
    /^see softsim help fetch$/,
  ],
  [
    ['fetch', '-a', 'key1', '-n', '5\r'],
    'the value of -n (--count) is not a whole number from 1 to 999999999',
    /^the value ends in a carriage return: the script has Windows line ends$/,
  ],
  [
    ['next', '-k', KEY, '-i', 'profiles '],
    'directory profiles  does not exist',
    /^check -i: the name ends in a space$/,
  ],
  [
    ['next', '-k', 'missing.pem'],
    "can't read the private key missing.pem: no such file or directory (ENOENT)",
    /^check -k and the current directory: there is no .*[\\/]missing\.pem$/,
  ],
  [
    ['next', '-k', join(cwd, 'missing.pem')],
    `can't read the private key ${join(cwd, 'missing.pem')}: no such file or directory (ENOENT)`,
    /^check -k: its value is the file of the private key$/,
  ],
])('%j', async (argv, error, hint) => {
  const { stderr } = await softsim(argv, { cwd })
  expect(lines(stderr).slice(0, isWindows ? 2 : undefined)).toEqual([
    `softsim: error: ${error}`,
    expect.stringMatching(new RegExp(hint.source.replace('^', '^softsim: hint: '))),
  ])
})

test('what looks odd, and may be right, gets a warning', async () => {
  const fetch = ['fetch', '-a', 'key1', '-o', 'a-file/ ', '-u', 'http://127.0.0.1:1/']
  expect((await softsim(fetch, { cwd })).stderr).toMatch(
    /^softsim: warning: the name of the directory ends in a space$/m,
  )
})

test('SOFTSIM_DEVICE_FORMAT decides which serial numbers next takes, and status looks for any', async () => {
  const call = (format: string, ...argv: string[]) =>
    softsim([...argv, '-i', 'missing'], { cwd, env: { SOFTSIM_DEVICE_FORMAT: format } })
  const next = ['next', '-k', KEY, '--device']
  expect(await call('A|SN-\\d+', ...next, 'SN-9')).toMatchObject({ code: 3 })
  expect(await call('.*', ...next, 'a;b')).toMatchObject({ code: 3 })
  expect(await call('SN-\\d+', 'status', '--device', 'NOREAD')).toMatchObject({ code: 3 })
  expect(await call('A|SN-\\d+', ...next, 'SN-95X')).toEqual(
    failure(2, /the value of --device is SN-95X: not what SOFTSIM_DEVICE_FORMAT describes/, /scan .+/),
  )
  expect(await call('SN-(', 'next', '-k', KEY)).toEqual(
    failure(2, /SOFTSIM_DEVICE_FORMAT is not a regular expression of JavaScript/, /for example: .+/),
  )
})

test.skipIf(!hasPosix).each([
  [4, 'next', '-k', 'missing.pem'],
  [4, 'status', '-k', 'missing.pem'],
  [3, 'next', '-k', KEY],
  [3, 'status', '-i', 'profiles'],
  [9, 'fetch', '-a', 'key1', '-u', 'http://127.0.0.1:1/'],
])('the current directory was deleted: %i: %s %s %s', async (code, ...argv) => {
  const shell = 'mkdir gone && cd gone && rmdir ../gone && "$@"'
  const run = await softsim(argv as string[], { cwd: temporaryDirectory(), shell })
  expect(run).toEqual(failure(code, /.+(ENOENT|does not exist).*/, /change to a directory that exists: .*/))
})

test.each(['next', 'status'])('%s with the key itself instead of its file', async (command) => {
  expect(await softsim([command, '-k', PEM])).toEqual(
    failure(
      2,
      /--key takes a file name, but this value looks like the key itself/,
      /save the key to a file, .+/,
    ),
  )
})

test('none of them claims a profile or creates a directory', async () => {
  expect(namesIn(profiles)).toEqual(someProfiles(2).map(({ iccid }) => `${iccid}.json`))
  expect(namesIn(cwd)).toEqual(['a-directory', 'a-file', 'lots', 'public.pem'])
})
