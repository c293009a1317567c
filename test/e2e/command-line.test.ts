import { readFileSync } from 'node:fs'
import { describe, expect, inject, test } from 'vitest'
import { directoryOf, namesIn, someProfiles, temporaryDirectory } from '../support/directory.ts'
import { failure, lines } from '../support/promises.ts'
import { API_KEY, startSandbox } from '../support/sandbox.ts'
import { softsim } from '../support/softsim.ts'

const { privateKeyPath: KEY } = inject('keys')
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

describe('fetch accepts every form of its options', () => {
  test.concurrent.each([
    [['-n5']],
    [['-n', '5']],
    [['-n=5']],
    [['--count=5']],
    [['--count', '5']],
    [['-v', '-n5', '-v']],
    [['-vvv', '-n', '5']],
    [['--verbosity', '--count=5']],
  ])('%j', async (count) => {
    const { url } = await startSandbox()
    const [after, before] = [temporaryDirectory(), temporaryDirectory()]
    const options = [...count, `-u=${url}`, '--api-key', API_KEY]
    expect(await softsim(['fetch', ...options, '-o', after])).toMatchObject({ code: 0, stdout: '' })
    expect(await softsim([...options, `--out=${before}`, 'fetch'])).toMatchObject({ code: 0, stdout: '' })
    expect([namesIn(after).length, namesIn(before).length]).toEqual([5, 5])
  })
})

describe('next accepts every form of its options', () => {
  const isHex = (line: string) => /^[0-9a-f]+$/.test(line)
  const isJson = (line: string) => 'additional_fields' in JSON.parse(line)
  const isRaw = (line: string) => 'imsi' in JSON.parse(line)

  test.concurrent.each([
    [[], isHex],
    [['--format'], isHex],
    [['--format=hex'], isHex],
    [['--format', 'hex'], isHex],
    [['--format', '--crc'], isHex],
    [['--format=json'], isJson],
    [['--format', 'json'], isJson],
    [['--format', 'raw'], isRaw],
    [['-v', '--format=raw', '-vv'], isRaw],
  ])('%j', async (options, isRight) => {
    const directory = directoryOf(someProfiles(2))
    const usual = ['-k', KEY, `--in=${directory}`]
    for (const argv of [
      ['next', ...usual, ...options],
      [...options, ...usual, 'next'],
    ]) {
      const { code, stdout } = await softsim(argv)
      expect([code, lines(stdout).length]).toEqual([0, 1])
      expect(isRight(stdout.trimEnd()), stdout).toBe(true)
    }
  })

  test('a value attached to a short option', async () => {
    const directory = directoryOf(someProfiles(1))
    expect(await softsim([`-k${KEY}`, `-i${directory}`, 'next'])).toMatchObject({ code: 0 })
  })

  test('a bare --format before the command works, or the message says which form to use', async () => {
    const directory = directoryOf(someProfiles(1))
    const { code, stderr } = await softsim(['--format', 'next', '-k', KEY, '-i', directory])
    expect(code === 0 || stderr.includes('--format=')).toBe(true)
  })
})

test.each([['-V'], ['--version'], ['fetch', '-V'], ['-V', 'next']])('the version: %s %s', async (...argv) => {
  expect(await softsim(argv)).toEqual({ code: 0, signal: null, stdout: `${version}\n`, stderr: '' })
})

test.each([
  [['help'], ['-h'], ['--help']],
  [
    ['help', 'fetch'],
    ['fetch', '-h'],
    ['fetch', '--help'],
    ['--help', 'fetch'],
    ['fetch', '-n', '5', '-h'],
    ['-o', 'next', 'fetch', '-h'],
  ],
  [
    ['help', 'next'],
    ['next', '--help'],
    ['help', 'next', '-v'],
  ],
  [
    ['help', 'help'],
    ['help', '--help'],
  ],
])('all ways to ask for help print the same: %j', async (...ways) => {
  const runs = await Promise.all(ways.map((argv) => softsim(argv)))
  const [first] = runs
  expect(first).toMatchObject({ code: 0, stderr: '' })
  expect(first?.stdout).toMatch(/^softsim [\s\S]*\nUsage\n[\s\S]*exit-codes/i)
  for (const run of runs) expect(run).toEqual(first)
})

test.each([
  ['-k', KEY, '--help'],
  ['-k', KEY, '-h'],
  ['-k', KEY, '-V'],
  ['-k', KEY, '-vV'],
  ['-i', 'profiles', '--version'],
  ['-k', KEY, '--help=1'],
])('next %s %s %s prints nothing to a device', async (...options) => {
  expect(await softsim(['next', ...options])).toEqual(
    failure(2, /.*(-h and -V only on their own|no value).*/, /.*softsim help.*/),
  )
})

test.each([
  ['-i', 'fetch', 'next', '-k', KEY, '-h'],
  ['-i', 'help', 'next', '-V'],
  ['--in=fetch', '-k', KEY, '-h', 'next'],
  ['-k', KEY, '-i', 'profiles', '-h'],
  ['nxet', '-k', KEY, '-V'],
  ['help', 'next', '-k', KEY],
])('values that look like commands and wrong commands print nothing to a device: %j', async (...argv) => {
  expect(await softsim(argv)).toMatchObject({ code: 2, stdout: '' })
})

test('without a terminal, the help has no colour and no line of more than 80 columns', async () => {
  const { stdout } = await softsim(['help', 'next'], { env: { FORCE_COLOR: '1', COLUMNS: '200' } })
  expect(stdout).not.toContain('\u001b')
  for (const line of lines(stdout).filter((each) => !each.startsWith('    $'))) {
    expect(line.length).toBeLessThanOrEqual(80)
  }
})

test('the examples of the help work', async () => {
  const { stdout } = await softsim(['help', 'next'])
  const pasted = lines(stdout).flatMap((line) => /^ {4}\$ softsim (.+)$/.exec(line)?.[1] ?? [])
  expect(pasted.length).toBeGreaterThanOrEqual(2)
  for (const example of pasted) {
    const directory = directoryOf(someProfiles(1))
    const argv = example.replace(' -i profiles', '').replace('softsim.pem', KEY).split(' ')
    const run = await softsim([...argv, '-i', directory])
    expect(run).toMatchObject({ code: 0, stderr: '' })
  }
})
