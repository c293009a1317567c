/** A backup comes back: from it and the receipts, each device gets its own profile again, and nobody else gets it. */
import { appendFileSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, inject, test } from 'vitest'
import { directoryOf, namesIn, someProfiles, temporaryDirectory, unusedIn } from '../support/directory.ts'
import { iccid } from '../support/profiles.ts'
import { failure, lines } from '../support/promises.ts'
import { softsim, startSoftsim } from '../support/softsim.ts'

const { privateKeyPath: KEY } = inject('keys')

let directory: string
let stick: string
let receipts: string

beforeEach(() => {
  directory = directoryOf(someProfiles(8))
  stick = join(temporaryDirectory(), 'stick')
  receipts = join(temporaryDirectory(), 'receipts.jsonl')
})

const next = (...args: string[]) =>
  softsim(['next', '-k', KEY, '-i', directory, '--receipt', receipts, '--format=raw', ...args])

const restore = (...files: string[]) => softsim(['restore', '-i', directory, '--receipts', ...files])

const iccidOf = ({ stdout }: { stdout: string }) => JSON.parse(stdout).iccid

async function given(...args: string[]): Promise<string> {
  const run = await next(...args)
  expect(run, run.stderr).toMatchObject({ code: 0 })
  return iccidOf(run)
}

function backUp(): string {
  const backup = join(temporaryDirectory(), 'backup')
  cpSync(directory, backup, { recursive: true })
  return backup
}

function bringBack(backup: string): void {
  rmSync(directory, { recursive: true })
  cpSync(backup, directory, { recursive: true })
}

/** The profiles 1 of SN-1 before the backup; after it 2 of SN-2, 3 of nobody known, 4 moved, 5 moved and then of SN-5. */
async function shift(): Promise<void> {
  await next('--device', 'SN-1')
  const backup = backUp()
  await next('--device', 'SN-2')
  await next()
  await softsim(['move', '-n', '2', '-i', directory, '-o', stick, '--receipt', receipts])
  await softsim([
    'next',
    '-k',
    KEY,
    '-i',
    stick,
    '--receipt',
    receipts,
    '--iccid',
    iccid(5),
    '--device',
    'SN-5',
  ])
  bringBack(backup)
}

const statusOf = async (...args: string[]) =>
  JSON.parse((await softsim(['status', '-i', directory, '--format=json', ...args])).stdout)

test('one command: every device gets its own again, and nobody else gets it', async () => {
  await shift()
  expect(await restore(receipts)).toEqual({
    code: 0,
    signal: null,
    stdout: '',
    stderr: [
      `softsim: 4 profiles in ${directory} marked used, as the receipts say\n`,
      `softsim: ${directory} is restored: it can be used again\n`,
      'softsim: 6 receipts of 5 profiles compared\n',
    ].join(''),
  })
  expect(unusedIn(directory)).toEqual([6, 7, 8].map((n) => `${iccid(n)}.json`))
  expect(await statusOf()).toMatchObject({ unused: 3, used: 5, moved: 1, inTransit: 0, unfinished: 0 })
  expect(await statusOf('--device', 'SN-2')).toMatchObject({ iccid: iccid(2), state: 'used' })
  for (const [device, n] of [
    ['SN-2', 2],
    ['SN-1', 1],
    ['SN-5', 5],
    ['SN-9', 6],
  ] as const)
    expect(await given('--device', device)).toBe(iccid(n))
  expect(await next('--iccid', iccid(4))).toEqual(failure(3, /.+ is moved to .+/, /.+/))
})

test('the record has the station and the time of the receipt', async () => {
  await shift()
  const [, line = ''] = lines(readFileSync(receipts, 'utf8'))
  const { time } = JSON.parse(line)
  writeFileSync(
    receipts,
    readFileSync(receipts, 'utf8').replaceAll(/"station":"[^"]*"/g, '"station":"line-7"'),
  )
  await restore(receipts)
  expect(await statusOf('--device', 'SN-2')).toMatchObject({ claimed: time, station: 'line-7' })
})

test('again: nothing changes', async () => {
  await shift()
  await restore(receipts)
  const before = namesIn(directory)
  const { code, stderr } = await restore(receipts)
  expect([code, lines(stderr)[0]]).toEqual([
    0,
    `softsim: 0 profiles in ${directory} marked used, as the receipts say`,
  ])
  expect(namesIn(directory)).toEqual(before)
})

test('several at once', async () => {
  await shift()
  const all = await Promise.all([1, 2, 3].map(() => restore(receipts)))
  expect(all.map(({ code }) => code)).toEqual([0, 0, 0])
  expect(await given('--device', 'SN-2')).toBe(iccid(2))
  expect(await given('--device', 'SN-5')).toBe(iccid(5))
  expect(unusedIn(directory)).toEqual([6, 7, 8].map((n) => `${iccid(n)}.json`))
})

test('killed at any moment: the same command goes on', async () => {
  await shift()
  const backup = backUp()
  for (let ms = 0; ms <= 240; ms += 30) {
    bringBack(backup)
    const { child, ended } = startSoftsim(['restore', '-i', directory, '--receipts', receipts])
    await new Promise((resolve) => setTimeout(resolve, ms))
    child.kill('SIGKILL')
    await ended
    expect(await restore(receipts)).toMatchObject({ code: 0 })
    expect(await statusOf()).toMatchObject({ unused: 3, used: 5, moved: 1, unfinished: 0 })
    expect(await statusOf('--device', 'SN-2')).toMatchObject({ iccid: iccid(2), state: 'used' })
  }
})

test('files that an older repair renamed: the device gets its profile again all the same', async () => {
  await shift()
  for (const n of [2, 3]) cpSync(join(directory, `${iccid(n)}.json`), join(directory, `__${iccid(n)}.json`))
  for (const n of [2, 3]) rmSync(join(directory, `${iccid(n)}.json`))
  expect(await restore(receipts)).toMatchObject({ code: 0 })
  expect(await given('--device', 'SN-2')).toBe(iccid(2))
})

test('two devices for one ICCID, and a device with two: listed, and used by nobody', async () => {
  const backup = backUp()
  for (const device of ['SN-1', 'SN-2', 'SN-3']) await next('--device', device)
  bringBack(backup)
  const [, two = '', three = ''] = lines(readFileSync(receipts, 'utf8'))
  appendFileSync(receipts, `${two.replace('"SN-2"', '"SN-9"')}\n${three.replaceAll(iccid(3), iccid(4))}\n`)
  const { code, stdout, stderr } = await restore(receipts)
  expect(code).toBe(5)
  expect(stderr).toContain('1 ICCID on several devices, 1 device with several ICCIDs')
  expect(lines(stdout).map((line) => line.split(/ {2,}/).slice(0, 3).join(' '))).toEqual([
    'problem iccid device',
    `two-devices ${iccid(2)} SN-2`,
    `two-devices ${iccid(2)} SN-9`,
    `two-profiles ${iccid(3)} SN-3`,
    `two-profiles ${iccid(4)} SN-3`,
  ])
  expect(unusedIn(directory)).toEqual([5, 6, 7, 8].map((n) => `${iccid(n)}.json`))
  expect(await given('--device', 'SN-1')).toBe(iccid(1))
  // Whoever has found out which one it uses says so.
  expect(await given('--device', 'SN-3', '--iccid', iccid(4))).toBe(iccid(4))
  expect(await given('--device', 'SN-3')).toBe(iccid(4))
})

test('a lot that has left and may have come back is used, and named', async () => {
  const backup = backUp()
  await softsim(['move', '-n', '1', '-i', directory, '-o', stick, '--receipt', receipts])
  await softsim(['move', '--all', '-i', stick, '-o', directory, '--receipt', receipts])
  bringBack(backup)
  const { code, stderr } = await restore(receipts)
  expect([code, lines(stderr)[0]]).toEqual([
    0,
    `softsim: warning: ${iccid(1)} left ${directory} and may have come back: it is marked used`,
  ])
  expect(unusedIn(directory)).not.toContain(`${iccid(1)}.json`)
})

test('a backup from the middle of a move that was given: it is finished, not taken back', async () => {
  await softsim(['move', '-n', '1', '-i', directory, '-o', stick, '--receipt', receipts])
  const [{ move = '' } = {}] = lines(readFileSync(receipts, 'utf8')).map((line) => JSON.parse(line))
  const journal = join(directory, '.moves', move)
  rmSync(join(directory, '.moves', `~${move}`), { recursive: true })
  rmSync(join(directory, `__${iccid(1)}.json`))
  cpSync(join(directory, `${iccid(2)}.json`), join(directory, `${iccid(1)}.json`))
  const text = readFileSync(join(directory, `${iccid(1)}.json`), 'utf8').replaceAll(iccid(2), iccid(1))
  writeFileSync(join(directory, `${iccid(1)}.json`), text)
  const { mkdirSync } = await import('node:fs')
  mkdirSync(journal)
  writeFileSync(join(journal, '1'), JSON.stringify({ to: stick, count: 1, names: [`${iccid(1)}.json`] }))
  expect(await restore(receipts)).toMatchObject({ code: 0 })
  expect(await softsim(['move', '--back', '-i', directory, '-o', stick])).toMatchObject({ code: 3 })
  expect(await softsim(['move', '-n', '1', '-i', directory, '-o', stick])).toMatchObject({ code: 0 })
  expect(await statusOf()).toMatchObject({ unused: 7, moved: 1, inTransit: 0 })
  expect(unusedIn(stick)).toEqual([`${iccid(1)}.json`])
})

describe('what is typed', () => {
  test('without receipts, one must say so', async () => {
    const bare = ['restore', '-i', directory]
    expect(await softsim(bare)).toEqual(failure(2, /restore needs --receipts/, /.+--without-receipts/))
    expect(await softsim([...bare, '--without-receipts'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: `softsim: ${directory} is restored: it can be used again\n`,
    })
    expect(await softsim([...bare, '--without-receipts', '--receipts', receipts])).toEqual(
      failure(2, /.+ can't be used together/, /.+/),
    )
    expect(await softsim(['restore', '--receipts', receipts])).toEqual(
      failure(2, /restore needs -i .+/, /.+/),
    )
  })

  test('receipts of another directory only, of no file, of no directory', async () => {
    await next('--device', 'SN-1')
    directory = directoryOf(someProfiles(12).slice(9))
    expect(await restore(receipts)).toEqual(
      expect.objectContaining({ code: 3, stderr: expect.stringContaining('has none of the profiles') }),
    )
    expect(unusedIn(directory)).toHaveLength(3)
    expect(await restore(`${receipts}.none`)).toEqual(failure(9, /can't read the receipts .+/, /.+/))
    expect(await restore(KEY)).toEqual(failure(2, /.+ is not a file of receipts/, /.+/))
    directory = join(directory, 'none')
    expect(await restore(receipts)).toEqual(failure(3, /.+ does not exist/, /.+/))
  })
})

describe('a profile is given to a device by hand', () => {
  test('unused, or used by nobody known: the device gets it, and gets it again', async () => {
    expect(await given('--device', 'SN-3', '--iccid', iccid(3))).toBe(iccid(3))
    expect(await given('--device', 'SN-3', '--iccid', iccid(3))).toBe(iccid(3))
    expect(await given()).toBe(iccid(1))
    const run = await next('--device', 'SN-1', '--iccid', iccid(1))
    expect(run.stderr).toContain(`${iccid(1)} is marked used, and nobody is known to have it`)
    expect(await given('--device', 'SN-1')).toBe(iccid(1))
    writeFileSync(join(directory, `__${iccid(2)}.json`), '')
    expect(await given('--device', 'SN-2', '--iccid', iccid(2))).toBe(iccid(2))
    expect(await statusOf('--device', 'SN-2')).toMatchObject({ iccid: iccid(2), state: 'used' })
    expect(JSON.parse(lines(readFileSync(receipts, 'utf8')).at(-1) ?? '')).toMatchObject({
      device: 'SN-2',
      iccid: iccid(2),
    })
  })

  test('refused: of another device, moved, unknown; a device that has another one', async () => {
    await next('--device', 'SN-1')
    await softsim(['move', '-n', '1', '-i', directory, '-o', stick])
    const before = namesIn(directory)
    const bind = (device: string, n: number) => next('--device', device, '--iccid', iccid(n))
    expect(await bind('SN-2', 1)).toEqual(failure(3, RegExp(`device SN-1 has ${iccid(1)}`), /.+/))
    expect(await bind('SN-2', 2)).toEqual(failure(3, /.+ is moved to .+/, /.+/))
    expect(await bind('SN-2', 99)).toEqual(failure(3, /no profile .+/, /.+/))
    expect(await bind('SN-1', 3)).toEqual(failure(3, RegExp(`device SN-1 already has ${iccid(1)}`), /.+/))
    expect(await next('--device', 'A', '--device', 'B', '--iccid', iccid(3))).toEqual(
      failure(2, /--iccid is for one device/, /.+/),
    )
    expect(namesIn(directory)).toEqual(before)
  })

  test('two at once: one wins', async () => {
    await next()
    for (const n of [1, 2]) {
      const runs = await Promise.all(
        ['A', 'B', 'C'].map((each) => next('--device', `${each}-${n}`, '--iccid', iccid(n))),
      )
      expect(runs.map(({ code }) => code).sort()).toEqual([0, 3, 3])
    }
  })
})

describe('--new', () => {
  test('a device that has a profile is refused, alone and in a panel', async () => {
    expect(await given('--device', 'SN-1', '--new')).toBe(iccid(1))
    const before = namesIn(directory)
    const refused = failure(3, RegExp(`device SN-1 already has ${iccid(1)}`), /.+/)
    expect(await next('--device', 'SN-1', '--new')).toEqual(refused)
    expect(await next('--device', 'SN-2', '--device', 'SN-1', '--new')).toEqual(refused)
    expect(namesIn(directory)).toEqual(before)
    expect(await next('--new')).toEqual(failure(2, /--new needs --device/, /.+/))
  })

  test('two at once for one device: one gets it', async () => {
    const runs = await Promise.all([1, 2, 3].map(() => next('--device', 'SN-1', '--new')))
    expect(runs.map(({ code }) => code).sort()).toEqual([0, 3, 3])
  })
})
