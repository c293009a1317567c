/** The command line of `softsim station`: what it refuses before it opens anything, and what it makes a shift of; stations/ has the others. */
import { chmodSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { StationCommand } from '../../src/cli/commands/station-command.ts'
import { Report } from '../../src/cli/report.ts'
import { parse } from '../../src/cli/run.ts'
import { UsageError } from '../../src/failure.ts'
import type { Settings } from '../../src/station/settings.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { hasPosix } from '../support/system.ts'

const started = vi.hoisted((): { shifts: Settings[] } => ({ shifts: [] }))

vi.mock('../../src/station/station.ts', () => ({
  runShift: async (settings: Settings) => void started.shifts.push(settings),
}))

beforeEach(() => void started.shifts.splice(0))

const PROGRAM = ['--program', './program-device']
const PORT = ['--port', '/dev/ttyUSB0']

async function call(options: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<void> {
  const context = {
    report: new Report(() => {}),
    version: '1.2.3',
    commands: [StationCommand],
    env,
    umask: 0o022,
  }
  await parse(['station', ...options], context).validateAndExecute()
}

/** What is said of a wrong command line, with its hint. */
async function refusal(options: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  const error = await call(options, env).catch((thrown: unknown) => thrown)
  expect(started.shifts).toEqual([])
  if (error instanceof UsageError) return `${error.message} | ${error.hint}`
  throw new Error(`taken: ${options}, ${error}`)
}

const EXAMPLE = 'give --port /dev/ttyUSB0 (on Windows: --port COM3), or --program ./program-device'
const ONCE = '--send needs %s once, for the profile | such as --send \'AT+SOFTSIM="%s"\''
const FOR_PORTS =
  '--pass, --fail and --baud are for ports | the exit code of the program says whether a device has passed'

test.each<[string, string[], NodeJS.ProcessEnv?]>([
  [`no port and no program is named | ${EXAMPLE}`, []],
  [`a station has ports or a program, not both | ${EXAMPLE}`, [...PROGRAM, ...PORT]],
  [ONCE, [...PROGRAM, '--send', 'AT+SOFTSIM']],
  [ONCE, [...PROGRAM, '--send', '%s %s']],
  [ONCE, [...PORT, '--send', '']],
  [FOR_PORTS, [...PROGRAM, '--pass', 'OK']],
  [FOR_PORTS, [...PROGRAM, '--fail', 'ERROR']],
  [FOR_PORTS, [...PROGRAM, '--baud', '9600']],
  ['--panel is for a program | for a panel of ports, repeat --port', [...PORT, '--panel', '2']],
  ['standard input is for serial numbers | give the file of the key with -k', [...PROGRAM, '-k', '-']],
  // What is wrong with the key is said before what is wrong with the ports.
  ['standard input is for serial numbers | give the file of the key with -k', ['-k', '-']],
  ['a port is named twice | name it once: two profiles would go to one device', [...PORT, ...PORT]],
  [
    'SOFTSIM_DEVICE_FORMAT is not a regular expression of JavaScript | for example: SOFTSIM_DEVICE_FORMAT=SN-[0-9]{6}',
    [],
    { SOFTSIM_DEVICE_FORMAT: '(' },
  ],
  [
    "--read has no (...) around the ICCID | for example: --read 'ICCID: ([0-9]+)'",
    [...PORT, '--read', 'ICCID: (?:[0-9]+)'],
  ],
  ["the value of --pass is not a regular expression | for example: --pass '^OK'", [...PORT, '--pass', '[']],
  ["the value of --read is not a regular expression | for example: --read '^OK'", [...PORT, '--read', '((']],
])('%s: %j', async (expected, options, env = {}) => {
  expect(await refusal(options, env)).toBe(expected)
})

test.skipIf(!hasPosix)('a program that can not be run is named, with what helps', async () => {
  const path = join(temporaryDirectory(), 'program-device')
  const around = 'a program with arguments needs a script around it'
  const said = () => refusal(['--program', path])
  expect(await said()).toBe(`the program ${path} can't be run | check its path; ${around}`)
  writeFileSync(path, '#!/bin/sh\n', { mode: 0o644 })
  expect(await said()).toBe(
    `the program ${path} can't be run | it must be executable, and one that is not on the PATH begins with ./; ${around}`,
  )
  chmodSync(path, 0o755)
  await call(['--program', path])
  expect(started.shifts).toMatchObject([{ program: path }])
})

test.skipIf(!hasPosix)('a program is found on the PATH', async () => {
  await call(['--program', 'sh'])
  expect(started.shifts[0]?.program).toMatch(/^\/.*\/sh$/)
})

test.skipIf(!hasPosix)('a port and its link are one port, also one that is not there twice', async () => {
  const [port, link] = ['port', 'link'].map((name) => join(temporaryDirectory(), name)) as [string, string]
  writeFileSync(port, '')
  symlinkSync(port, link)
  expect(await refusal(['--port', port, '--port', link])).toMatch(/^a port is named twice/)
  await call(['--port', port, '--port', `${port}2`])
  expect(started.shifts[0]).toMatchObject({ ports: [port, `${port}2`], size: 2 })
})

describe('a shift', () => {
  const shiftOf = async (options: readonly string[], env?: NodeJS.ProcessEnv): Promise<Settings> => {
    await call(options, env)
    const [settings] = started.shifts
    if (settings === undefined) throw new Error('none')
    return settings
  }

  test('has defaults for what is not said', async () => {
    const shift = await shiftOf(PORT)
    expect(shift).toMatchObject({
      ...{ keyPath: 'softsim.pem', directory: 'profiles', receipt: 'receipt.jsonl', size: 1 },
      ...{ ports: ['/dev/ttyUSB0'], baud: 115_200, timeoutMs: 30_000, lowStock: 20, umask: 0o022 },
      ...{ frame: ['', '\n'], program: undefined, read: undefined, passphrase: undefined },
    })
  })

  test('has what is said', async () => {
    const options = ['--baud', '9600', '--timeout', '5', '--low-stock', '3', '--read', '<([0-9]+)>']
    const names = ['-k', 'k.pem', '-i', 'stock', '--receipt', 'r.jsonl', '--send', 'AT+S="%s",1']
    const env = { SOFTSIM_KEY_PASSPHRASE: 'a secret' }
    const shift = await shiftOf([...PORT, '--port', '/dev/ttyUSB1', ...options, ...names], env)
    expect(shift).toMatchObject({
      ...{ keyPath: 'k.pem', directory: 'stock', receipt: 'r.jsonl', size: 2, passphrase: 'a secret' },
      ...{ baud: 9600, timeoutMs: 5000, lowStock: 3, read: /<([0-9]+)>/, frame: ['AT+S="', '",1\r\n'] },
    })
  })

  test('has a timeout that a timer takes', async () => {
    expect((await shiftOf([...PORT, '--timeout', '2147484'])).timeoutMs).toBe(2 ** 31 - 1)
  })

  test('takes what modems and the SoftSIM library say', async () => {
    const { pass, fail } = await shiftOf(PORT)
    const lines = ['OK', 'OK 1', '<inf> SoftSIM fully provisioned', 'it is OK', 'ok', 'SoftSIM']
    expect(lines.filter((line) => pass?.test(line))).toEqual(lines.slice(0, 3))
    const failures = [
      ...['+CME ERROR: 10', 'FAIL', 'FAILED: 3', 'profile length invalid', 'profile decode failed'],
      ...['missing required field 3', 'failed to update profile', 'no error', 'a failure'],
    ]
    expect(failures.filter((line) => fail?.test(line))).toEqual(failures.slice(0, 7))
  })

  test('takes other words for a pass or a failure, and the other ones stay', async () => {
    const one = await shiftOf([...PORT, '--pass', '^0$'])
    expect([one.pass, one.fail?.test('ERROR')]).toEqual([/^0$/, true])
    started.shifts.splice(0)
    const other = await shiftOf([...PORT, '--fail', '^1$'])
    expect([other.pass?.test('OK'), other.fail]).toEqual([true, /^1$/])
  })

  test.skipIf(!hasPosix)('with a program judges no words, and has the size of the panel', async () => {
    const shift = await shiftOf(['--program', 'sh', '--panel', '3'])
    expect(shift).toMatchObject({ pass: undefined, fail: undefined, size: 3, ports: [] })
  })

  test('takes the serial numbers that SOFTSIM_DEVICE_FORMAT describes', async () => {
    const { serialOf } = await shiftOf(PORT, { SOFTSIM_DEVICE_FORMAT: 'SN-[0-9]' })
    expect(serialOf(' SN-1 ')).toBe('SN-1')
    expect(() => serialOf('SN-12')).toThrow(UsageError)
  })
})
