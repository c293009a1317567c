/** Variables of the environment that stand for options. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { directoryOf, namesIn, someProfiles, temporaryDirectory } from '../support/directory.ts'
import { failure, lines } from '../support/promises.ts'
import { API_KEY, startSandbox } from '../support/sandbox.ts'
import { softsim } from '../support/softsim.ts'

const { privateKeyPath: SOFTSIM_KEY_FILE, privateKey } = inject('keys')
const { privateKeyPath: OTHER_KEY } = inject('otherKeys')

describe('the variable stands for the option, and the option wins', () => {
  test('next and status', async () => {
    const SOFTSIM_DIR = directoryOf(someProfiles(2))
    const env = { SOFTSIM_DIR, SOFTSIM_KEY_FILE }
    expect(await softsim(['next'], { env })).toMatchObject({ code: 0, stderr: '' })
    const { stdout } = await softsim(['status', '--format=json'], { env })
    expect(JSON.parse(stdout)).toMatchObject({ directory: SOFTSIM_DIR, unused: 1, used: 1 })
    expect(await softsim(['next', '-k', OTHER_KEY], { env })).toMatchObject({ code: 4 })
    const other = directoryOf(someProfiles(1))
    expect(await softsim(['next', '-i', other], { env })).toMatchObject({ code: 0 })
    expect([namesIn(other)[0], namesIn(SOFTSIM_DIR).length]).toEqual([expect.stringMatching(/^__/), 2])
  })

  test('the receipt of next and move', async () => {
    const directory = directoryOf(someProfiles(3))
    const [path, other] = ['receipt.jsonl', 'other.jsonl'].map((name) => join(temporaryDirectory(), name))
    const env = { SOFTSIM_RECEIPT: path ?? '', SOFTSIM_KEY_FILE }
    const files = () => [path, other].map((each) => existsSync(each ?? '') && linesOf(each ?? ''))
    const linesOf = (each: string) => lines(readFileSync(each, 'utf8')).length
    expect(await softsim(['next', '-i', directory], { env })).toMatchObject({ code: 0, stderr: '' })
    expect(files()).toEqual([1, false])
    const args = ['next', '-i', directory, '--receipt', other ?? '']
    expect(await softsim(args, { env })).toMatchObject({ code: 0, stderr: '' })
    expect(files()).toEqual([1, 1])
    const moved = join(temporaryDirectory(), 'moved')
    expect(await softsim(['move', '--all', '-i', directory, '-o', moved], { env })).toMatchObject({ code: 0 })
    expect(files()).toEqual([2, 1])
  })

  test('fetch', async () => {
    const { url: SOFTSIM_URL, directory: SOFTSIM_DIR } = await startSandbox()
    const env = { SOFTSIM_API_KEY: API_KEY, SOFTSIM_DIR, SOFTSIM_URL }
    expect(await softsim(['fetch', '-n', '2'], { env })).toMatchObject({ code: 0 })
    expect(namesIn(SOFTSIM_DIR)).toHaveLength(2)
    expect(await softsim(['fetch', '-u', 'nowhere'], { env })).toMatchObject({ code: 2 })
    const other = join(temporaryDirectory(), 'other')
    expect(await softsim(['fetch', '-o', other], { env })).toMatchObject({ code: 0 })
    expect([namesIn(other).length, namesIn(SOFTSIM_DIR).length]).toEqual([1, 2])
  })
})

test('an empty variable is not set', async () => {
  const cwd = temporaryDirectory()
  const env = { SOFTSIM_DIR: '', SOFTSIM_KEY_FILE: '', SOFTSIM_URL: '', SOFTSIM_API_KEY: '' }
  expect(await softsim(['next'], { env, cwd })).toEqual(failure(2, /next needs the private key/, /.+/))
  expect(await softsim(['fetch'], { env, cwd })).toEqual(failure(2, /fetch needs an API key/, /.+/))
  expect(await softsim(['status'], { env, cwd })).toEqual(
    failure(3, /directory \.\/profiles does not exist/, /.+/),
  )
})

test('status opens profiles with the key of the variable only with -n', async () => {
  const SOFTSIM_DIR = directoryOf(someProfiles(3))
  const env = { SOFTSIM_DIR, SOFTSIM_KEY_FILE }
  const checked = async (...args: string[]) =>
    JSON.parse((await softsim(['status', '--format=json', ...args], { env })).stdout).checked
  expect([await checked(), await checked('-n', '2')]).toEqual([null, 2])
  await softsim(['next', '--device', 'SN-1'], { env })
  for (const args of [['--devices'], ['--device', 'SN-1']])
    expect(await softsim(['status', ...args], { env })).toMatchObject({ code: 0, stderr: '' })
})

test('a failure that names an option says which variable its value is from, without the value', async () => {
  const env = { SOFTSIM_DIR: 'nope', SOFTSIM_KEY_FILE, SOFTSIM_URL: 'x://y', SOFTSIM_API_KEY: API_KEY }
  const hints = async (args: string[], more = {}) =>
    (await softsim(args, { env: { ...env, ...more } })).stderr.match(/(?<=hint: )-.*(?=\n)/g) ?? []
  expect(await hints(['next'])).toEqual(['-i has its value from SOFTSIM_DIR'])
  expect(await hints(['next', '-i', 'nope'])).toEqual([])
  expect(await hints(['next'], { SOFTSIM_KEY_FILE: 'nope.pem' })).toEqual([
    '-k has its value from SOFTSIM_KEY_FILE',
  ])
  expect(await hints(['fetch'])).toEqual(['-u has its value from SOFTSIM_URL'])
  expect(await hints(['next', '-n', 'x'])).toEqual([])
  const SOFTSIM_RECEIPT = 'nowhere/receipt.jsonl'
  expect(await hints(['next'], { SOFTSIM_DIR: directoryOf([]), SOFTSIM_RECEIPT })).toEqual([
    '--receipt has its value from SOFTSIM_RECEIPT',
  ])
})

/** What somebody may paste into it: the key, or the API key. */
const PASTED = [
  privateKey,
  privateKey.trim().replaceAll('\n', ' '),
  privateKey.split('\n')[3] ?? '',
  privateKey.replace(/-----.*-----|\s/g, '').slice(0, 90),
  API_KEY,
  'onok_0a1b2c3d.abcd',
]

test.each(PASTED)('a key in SOFTSIM_KEY_FILE is refused, and not repeated (%#)', async (pasted) => {
  const directory = directoryOf(someProfiles(1))
  for (const args of [
    ['next', '-vvv'],
    ['status', '-n', '1', '-vvv'],
  ]) {
    const env = { SOFTSIM_KEY_FILE: pasted, SOFTSIM_DIR: directory }
    const { code, stdout, stderr } = await softsim(args, { env })
    expect([2, 4]).toContain(code)
    for (const piece of pasted.match(/[^\s-]{12,}/g) ?? [pasted]) expect(stdout + stderr).not.toContain(piece)
    expect(stderr).toContain('hint: ')
  }
  expect(namesIn(directory)[0]).toMatch(/^\d/)
})
