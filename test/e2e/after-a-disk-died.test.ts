/** What receipts know that a directory from a backup has forgotten. */
import { chmodSync, cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, inject, test } from 'vitest'
import { directoryOf, namesIn, someProfiles, temporaryDirectory } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { failure, lines } from '../support/promises.ts'
import { softsim } from '../support/softsim.ts'
import { modesCount } from '../support/system.ts'

const { privateKeyPath: KEY } = inject('keys')

let directory: string
/** The files of receipts of two stations. */
let line1: string
let line2: string

beforeEach(() => {
  directory = directoryOf(someProfiles(6))
  line1 = join(temporaryDirectory(), 'line-1.jsonl')
  line2 = join(temporaryDirectory(), 'line-2.jsonl')
})

const next = (receipt: string, ...args: string[]) =>
  softsim(['next', '-k', KEY, '-i', directory, '--receipt', receipt, ...args], {
    env: { SOFTSIM_DEVICE_FORMAT: 'SN.+' },
  })

const compare = (...args: string[]) => softsim(['status', '-i', directory, '--receipts', ...args])

async function rowsOf(...args: string[]): Promise<string[]> {
  const { stdout } = await compare(...args, '--format=json')
  return lines(stdout)
    .map((line) => JSON.parse(line))
    .map(({ problem, iccid, device, file }) => [problem, iccid, device, file].join(' '))
}

/** A backup that has forgotten the profiles 2 of SN-2 and 3 of a call without a device. */
async function afterADiskDied(): Promise<void> {
  await next(line1, '--device', 'SN-1')
  const backup = join(temporaryDirectory(), 'backup')
  cpSync(directory, backup, { recursive: true })
  await next(line1, '--device', 'SN-2')
  await next(line2)
  rmSync(directory, { recursive: true })
  cpSync(backup, directory, { recursive: true })
}

test('receipts of a move: what left a directory must not be unused there, and may be unused where it went', async () => {
  const [other, backup] = [join(temporaryDirectory(), 'other'), join(temporaryDirectory(), 'backup')]
  cpSync(directory, backup, { recursive: true })
  await softsim(['move', '-n', '2', '-i', directory, '-o', other, '--receipt', line1])
  await softsim(['next', '-k', KEY, '-i', other, '--receipt', line2, '--device', 'SN-1'])
  expect(await compare(line1, line2)).toMatchObject({ code: 0, stdout: '' })
  const there = ['status', '-i', other, '--receipts', line1, line2]
  expect(await softsim(there)).toMatchObject({ code: 0, stdout: '' })
  rmSync(directory, { recursive: true })
  cpSync(backup, directory, { recursive: true })
  expect((await rowsOf(line1)).sort()).toEqual([1, 2].map((n) => `unused ${iccid(n)}  ${iccid(n)}.json`))
})

test('receipts of a chain of moves: only the last directory may have the profiles, wherever the disks are today', async () => {
  const above = temporaryDirectory()
  const [second, third, backup] = ['second', 'third', 'backup'].map((name) => join(above, name)) as [
    string,
    string,
    string,
  ]
  await softsim(['move', '-n', '2', '-i', directory, '-o', second, '--receipt', line1])
  cpSync(second, backup, { recursive: true })
  await softsim(['move', '--all', '-i', second, '-o', third, '--receipt', line2])
  renameSync(third, `${third}-elsewhere`)
  const compared = async (place: string, ...files: string[]) => {
    const { code, stderr } = await softsim(['status', '-i', place, '--receipts', ...files])
    return [code, lines(stderr)[0]]
  }
  const all = [line1, line2]
  expect(await compared(directory, ...all)).toEqual([0, 'softsim: 4 receipts of 2 profiles compared'])
  expect(await compared(second, ...all)).toEqual([0, 'softsim: 4 receipts of 2 profiles compared'])
  expect(await compared(`${third}-elsewhere`, ...all)).toEqual([0, expect.anything()])
  expect(await compared(directoryOf(someProfiles(9).slice(6)), line1)).toEqual([3, expect.anything()])
  expect((await compared(backup, ...all))[0]).toBe(5)
  const restored = directoryOf(someProfiles(6))
  for (const files of [all, [line1], [line2]]) expect((await compared(restored, ...files))[0]).toBe(5)
  // The clock of the second station is years behind.
  writeFileSync(line2, readFileSync(line2, 'utf8').replaceAll(/"time":"\d{4}/g, '"time":"2020'))
  expect((await compared(backup, ...all))[0]).toBe(5)
  expect((await compared(`${third}-elsewhere`, ...all))[0]).toBe(0)
})

test('receipts that the directory agrees with', async () => {
  await next(line1, '--device', 'SN-1')
  await next(line1, '--device', 'SN-1')
  await next(line2, '-n', '2')
  expect(await compare(line1, line2)).toEqual({
    code: 0,
    signal: null,
    stdout: '',
    stderr: 'softsim: 4 receipts of 3 profiles compared\n',
  })
  expect(JSON.parse((await compare(line1, line2, '--format=json')).stdout)).toEqual({
    ...{ directory, receipts: 4, profiles: 3, elsewhere: 0, torn: 0, version: 1 },
  })
})

test('a backup that has forgotten two: each is named, with its receipt, and nothing is changed', async () => {
  await afterADiskDied()
  const before = namesIn(directory)
  const run = await compare(line1, line2)
  expect(run.code).toBe(5)
  expect(lines(run.stdout).map((line) => line.split(/ {2,}/))).toEqual([
    ['problem', 'iccid', 'device', 'time', 'source', 'file'],
    ['unused', iccid(2), 'SN-2', expect.stringMatching(/Z$/), `${line1}:2`, `${iccid(2)}.json`],
    ['unused', iccid(3), expect.stringMatching(/Z$/), `${line2}:1`, `${iccid(3)}.json`],
  ])
  expect(run.stderr).toMatch(
    /: error: the receipts contradict each other or .+: 2 ICCIDs handed out or moved, but unused in the directory\n.*: hint: /,
  )
  expect(namesIn(directory)).toEqual(before)
})

test('the line has started too early: the same ICCID is on two devices', async () => {
  await afterADiskDied()
  // As if nobody could tell that it comes from a backup.
  rmSync(join(directory, '.identity'))
  await next(line2, '--device', 'SN-9')
  expect(await rowsOf(line1, line2)).toEqual([
    `two-devices ${iccid(2)} SN-2 __${iccid(2)}.json`,
    `two-devices ${iccid(2)} SN-9 __${iccid(2)}.json`,
    `two-devices ${iccid(2)} SN-9 __${iccid(2)}.json`,
    `unused ${iccid(3)}  ${iccid(3)}.json`,
  ])
  // The used file says enough.
  expect((await rowsOf(line1))[1]).toBe(`two-devices ${iccid(2)} SN-9 __${iccid(2)}.json`)
})

test('a device with two ICCIDs, in two directories', async () => {
  await next(line1, '--device', 'SN-1')
  const other = directoryOf(someProfiles(8).slice(6))
  await softsim(['next', '-k', KEY, '-i', other, '--device', 'SN-1', '--receipt', line2])
  const run = await compare(line1, line2, '--format=csv')
  expect(run.code).toBe(5)
  expect(run.stdout.split('\r\n').map((row) => row.split(',').slice(0, 3).join(' '))).toEqual([
    'problem iccid device',
    ...Array(2).fill(`two-profiles ${iccid(1)} SN-1`),
    `two-profiles ${iccid(7)} SN-1`,
    '',
  ])
  expect(run.stderr).toContain('softsim: 2 receipts of 2 profiles compared; 1 of them not in ')
  expect((await compare(line1, line2, '-v')).stderr).toContain(
    `softsim: ${iccid(7)} is not in ${directory}\n`,
  )
})

test('a serial number with anything in it', async () => {
  const serial = 'SN "2", é =1'
  await next(line1, '--device', serial)
  rmSync(directory, { recursive: true })
  directory = directoryOf(someProfiles(6))
  expect(await rowsOf(line1)).toEqual([`unused ${iccid(1)} ${serial} ${iccid(1)}.json`])
})

describe('files of receipts', () => {
  test.each<[string, (text: string) => string | Buffer]>([
    ['with Windows line ends', (text) => text.replaceAll('\n', '\r\n')],
    ['with a byte order mark', (text) => `\ufeff${text}`],
    ['in UTF-16, as Windows PowerShell joins files', (text) => Buffer.from(`\ufeff${text}`, 'utf16le')],
    ['twice in one file, with empty lines', (text) => `${text}\n\n${text}`],
  ])('%s', async (_, change) => {
    await afterADiskDied()
    writeFileSync(line1, change(readFileSync(line1, 'utf8')))
    const run = await compare(line1, line1, '--receipts', line2)
    expect(run).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('softsim: 3 receipts of 3 profiles'),
    })
  })

  test('lines that are not complete are named, and are no reason to fail', async () => {
    await next(line1, '--device', 'SN-1')
    const [receipt = ''] = lines(readFileSync(line1, 'utf8'))
    const torn = receipt.slice(0, 60)
    writeFileSync(line1, `${torn}\n${receipt}\n${receipt.replace(iccid(1), 'x')}\n${torn}\0\0\0`)
    const run = await compare(line1)
    expect([run.code, lines(run.stderr)]).toEqual([
      0,
      [1, 3, 4]
        .map((line) => `softsim: warning: ${line1}:${line} is not a complete receipt`)
        .concat('softsim: 1 receipt of 1 profile compared'),
    ])
    // All that a power cut has left.
    writeFileSync(line2, '{"ti')
    expect(await compare(line2)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`${line2}:1 is not`),
    })
  })

  test('of another directory only: most likely the wrong one', async () => {
    await next(line1, '--device', 'SN-1')
    directory = directoryOf(someProfiles(9).slice(6))
    expect(await compare(line1)).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(
        /error: .+ has none of the profiles that the receipts name\n.+hint: check -i/,
      ),
    })
  })

  test('that are none', async () => {
    expect(await compare(join(directory, 'nope.jsonl'))).toEqual(
      failure(9, /can't read the receipts .+: no such file or directory \(ENOENT\)/, /name each file, .+/),
    )
    expect(await compare(directory)).toEqual(failure(9, /can't read the receipts .+/, /.+/))
    expect(await compare(KEY)).toEqual(failure(2, /.+ is not a file of receipts/, /.+/))
    expect(await compare()).toEqual(failure(2, /--receipts needs a value/, /.+/))
    expect(await compare('')).toEqual(failure(2, /the value of --receipts is empty/, /.+/))
    for (const args of [['--devices'], ['-k', KEY], ['--device', 'SN-1'], ['-n', '1']])
      expect(await compare(line1, ...args)).toEqual(failure(2, /.* can't be used together with .*/, /.+/))
  })
})

test('a used file that can’t be read is used: no other device gets it', async () => {
  await next(line1, '--device', 'SN-1')
  rmSync(join(directory, `__${iccid(1)}.json`))
  mkdirSync(join(directory, `__${iccid(1)}.json`))
  const { code, stderr } = await compare(line1)
  expect([code, lines(stderr)[0]]).toEqual([
    0,
    `softsim: warning: __${iccid(1)}.json is left out: it is not a regular file`,
  ])
})

test.skipIf(!modesCount)('if nobody can tell, it says so, and not that all is well', async () => {
  await next(line1, '--device', 'SN-1')
  chmodSync(directory, 0o444)
  expect(await compare(line1)).toMatchObject({ code: 9, stdout: '' })
  chmodSync(directory, 0o700)
})
