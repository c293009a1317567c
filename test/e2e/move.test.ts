import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { newAnswerName } from '../../src/store/incoming/answers.ts'
import { directoryOf, namesIn, someProfiles, temporaryDirectory, unusedIn } from '../support/directory.ts'
import { hasSmallDisks, smallDisk } from '../support/disk.ts'
import { fileOf, halfMoved, move, next, pair, status } from '../support/moves.ts'
import { iccid, plainProfile, storedFile } from '../support/profiles.ts'
import { failure, lines } from '../support/promises.ts'
import { softsim } from '../support/softsim.ts'
import { hasPosix } from '../support/system.ts'

const { publicKey } = inject('keys')

test('the lowest profiles go to the other directory, and stations there and here go on', async () => {
  const [source, target] = pair()
  const before = JSON.parse(readFileSync(join(source, fileOf(1)), 'utf8'))
  expect(await move(source, target, '-n', '2')).toEqual({
    code: 0,
    signal: null,
    stdout: '',
    stderr: `softsim: 2 profiles moved to ${target}; 3 unused left in ${source}\n`,
  })
  expect(namesIn(target)).toEqual([fileOf(1), fileOf(2)])
  const from = expect.stringMatching(/^[\da-f-]{36}$/)
  expect(JSON.parse(readFileSync(join(target, fileOf(1)), 'utf8'))).toEqual({ ...before, from })
  expect(JSON.parse(readFileSync(join(source, `__${fileOf(1)}`), 'utf8'))).toMatchObject({
    to: target,
    move: from,
    station: hostname(),
    time: expect.stringMatching(/T[\d:.]+Z$/),
    moved: before,
  })
  expect(unusedIn(source)).toEqual([3, 4, 5].map(fileOf))
  expect(JSON.parse((await next(target)).stdout).iccid).toBe(iccid(1))
  expect(JSON.parse((await next(source)).stdout).iccid).toBe(iccid(3))
  expect(await status(source)).toMatchObject({ unused: 2, used: 3, moved: 2, inTransit: 0, unfinished: 0 })
  expect(await status(target)).toMatchObject({ unused: 1, used: 1, moved: 0, inTransit: 0 })
})

test('--all moves what is unused; what is used or recorded for a device stays', async () => {
  const [source, target] = pair()
  await next(source)
  await next(source, '--device', 'SN-1')
  // Only its record says so.
  unlinkSync(join(source, `__${fileOf(2)}`))
  cpSync(join(source, `__${fileOf(1)}`), join(source, fileOf(2)))
  writeFileSync(join(source, fileOf(2)), storedFile(plainProfile(2), publicKey))
  const run = await move(source, target, '--all')
  expect(run.code).toBe(0)
  expect(run.stderr).toContain(`${fileOf(2)} is not moved: it is recorded for a device`)
  expect(namesIn(target)).toEqual([3, 4, 5].map(fileOf))
  expect(JSON.parse((await next(source, '--device', 'SN-1')).stdout).iccid).toBe(iccid(2))
})

test('none: the hint does not say to move fewer', async () => {
  const run = await softsim([
    'move',
    '-n',
    '5',
    '-i',
    temporaryDirectory(),
    '-o',
    join(temporaryDirectory(), 'new'),
  ])
  expect(run).toEqual(failure(3, /no unused profile in \S+ can be moved/, /see softsim status/))
})

test('too few: nothing is moved, and nothing stays marked', async () => {
  const [source, target] = pair(2)
  expect(await move(source, target, '-n', '3')).toEqual(
    failure(
      3,
      /at most 2 of 3 profiles in \S+ can be moved/,
      /move fewer, or use --all; these were not moved/,
    ),
  )
  expect(namesIn(source)).toEqual([fileOf(1), fileOf(2)])
  expect(existsSync(target)).toBe(false)
})

test('--iccid in the source says where a moved profile is', async () => {
  const [source, target] = pair()
  await move(source, target, '-n', '1')
  expect(await next(source, '--iccid', iccid(1))).toEqual(
    failure(3, RegExp(`${iccid(1)} is moved to ${target}`), /.*-i.*/),
  )
  expect((await next(target, '--iccid', iccid(1))).code).toBe(0)
})

test('what a fetch stores again does not come back', async () => {
  const [source, target] = pair(1)
  await move(source, target, '--all')
  mkdirSync(join(source, '.incoming'))
  const answer = `${newAnswerName().replace(`~${process.pid}~`, '~4194999~')}.answer`
  writeFileSync(join(source, '.incoming', answer), `${storedFile(plainProfile(1), publicKey)}\n`)
  expect((await next(source)).code).toBe(3)
  expect(unusedIn(source)).toEqual([])
})

test('what an interrupted fetch received is stored first', async () => {
  const [source, target] = pair(1)
  mkdirSync(join(source, '.incoming'))
  const answer = `${newAnswerName().replace(`~${process.pid}~`, '~4194999~')}.answer`
  const both = [1, 2].map((n) => `${storedFile(plainProfile(n), publicKey)}\n`)
  writeFileSync(join(source, '.incoming', answer), both.join(''))
  const run = await move(source, target, '--all')
  expect(run.stderr).toContain('stored what an interrupted call received: 1 new profile')
  expect(namesIn(target)).toEqual([1, 2].map(fileOf))
  expect(readdirSync(join(source, '.incoming'))).toEqual([])
})

test('a receipt has a line for each profile', async () => {
  const [source, target] = pair()
  const receipt = join(temporaryDirectory(), 'receipt.jsonl')
  await move(source, target, '-n', '2', '--receipt', receipt)
  const entries = lines(readFileSync(receipt, 'utf8')).map((line) => JSON.parse(line))
  expect(entries).toMatchObject(
    [1, 2].map((n) => ({ iccid: iccid(n), directory: source, to: target, again: false })),
  )
})

test('receipts of the station that a profile was moved to: here, it is not one that is not recorded', async () => {
  const [source, target] = pair()
  await move(source, target, '-n', '2')
  const receipt = join(temporaryDirectory(), 'receipt.jsonl')
  await next(target, '--device', 'Q-1', '--receipt', receipt)
  expect(await softsim(['status', '-i', source, '--receipts', receipt])).toMatchObject({
    code: 0,
    stderr: 'softsim: 1 receipt of 1 profile compared\n',
  })
})

test('what was moved is neither used up nor without a device, and status says where it is', async () => {
  const [source, target] = pair(2)
  await move(source, target, '--all')
  const all = /all profiles in it are used or moved, .*: check -i, or fetch more.*/
  expect(await next(source)).toEqual(failure(3, /no unused profile in \S+/, all))
  expect((await softsim(['status', '-i', source])).stderr).toMatch(all)
  expect((await softsim(['status', '-i', source, '--devices'])).stderr).toBe(
    'softsim: 2 profiles moved to other directories, or in transit\n',
  )
  expect((await softsim(['status', '-i', source, '--iccid', iccid(1)])).stderr).toBe(
    `softsim: ${iccid(1)} is moved to ${target}\n`,
  )
})

test('profiles that are in the other directory already are warned of', async () => {
  const [source, target] = pair(2)
  cpSync(source, target, { recursive: true })
  expect((await move(source, target, '--all')).stderr).toContain(
    `warning: ${target} already has 2 profiles of these, such as ${fileOf(1)}: was one of the directories`,
  )
})

describe('the same directory', () => {
  test.skipIf(!hasPosix)('under another name is refused', async () => {
    const [source] = pair()
    const link = join(temporaryDirectory(), 'link')
    symlinkSync(source, link)
    for (const other of [
      source,
      `${source}/`,
      join(source, '..', 'x', '..', source.split('/').at(-1) ?? ''),
      link,
    ])
      expect(await move(source, other, '--all')).toEqual(failure(2, /.* are the same directory/))
    expect(readdirSync(source).filter((name) => name.startsWith('.'))).toEqual([])
  })
})

test('a directory inside the other one, or with the name of a profile, is refused', async () => {
  const [source] = pair()
  const nested = /\S+ is inside \S+/
  expect(await move(source, join(source, 'sub'), '--all')).toEqual(failure(2, nested, /.*nothing was moved/))
  expect(await move(source, dirname(source), '--all')).toEqual(failure(2, nested))
  expect(await move(source, join(dirname(source), fileOf(9)), '--all')).toEqual(
    failure(2, /\S+: a directory can't have the name of a profile/),
  )
  expect(readdirSync(source)).toHaveLength(5)
})

test('a directory above that is missing is not created: the disk may not be mounted', async () => {
  const [source] = pair()
  const above = join(temporaryDirectory(), 'stick')
  expect(await move(source, join(above, 'profiles'), '--all')).toEqual(
    failure(3, RegExp(`the directory ${above} does not exist`)),
  )
  expect(existsSync(above)).toBe(false)
})

test.each<[string[], RegExp, RegExp?]>([
  [['-n', '1', '-i', 'a'], /move needs -o \(--out\)/],
  [['-n', '1', '-o', 'a'], /move needs -i \(--in\)/],
  [['-i', 'a', '-o', 'b'], /move needs -n, --all or --back/],
  [['-i', 'a', '-o', 'b', '-n', '1', '--all'], /-n and --all can't be used together/],
  [['-i', 'a', '-o', 'b', '-n', '1', '--back'], /-n and --back .*/, /for example: softsim move --back .*/],
  [['-i', 'a', '-o', 'b', '-n', '0'], /the value of -n \(--count\) .*/],
])('%j', async (options, why, hint = /.*/) => {
  expect(await softsim(['move', ...options])).toEqual(failure(2, why, hint))
})

test('a lot comes home, and may leave again: what was printed anywhere stays used', async () => {
  const [a, b] = pair(4)
  const printed = async (directory: string) => {
    const { code, stdout } = await next(directory)
    return [code, JSON.parse(stdout).iccid]
  }
  for (const [n, [source, target]] of [
    [a, b],
    [b, a],
    [a, b],
  ].entries()) {
    expect(await move(source ?? '', target ?? '', '--all')).toMatchObject({ code: 0 })
    expect(unusedIn(target ?? '')).toHaveLength(4 - n)
    expect(await printed(target ?? '')).toEqual([0, iccid(n + 1)])
  }
  // Only the last one is unused, and only here.
  expect([unusedIn(a), unusedIn(b)]).toEqual([[], [`${iccid(4)}.2.json`]])
  expect(await status(a)).toMatchObject({ unused: 0, inTransit: 0 })
  expect(await printed(b)).toEqual([0, iccid(4)])
  for (const each of [a, b]) expect(await next(each)).toMatchObject({ code: 3 })
  expect(await next(a, '--iccid', iccid(4))).toEqual(
    failure(3, RegExp(`${iccid(4)} is moved to ${b}`), /.*-i.*/),
  )
  expect((await next(a, '--iccid', iccid(2))).code).toBe(0)
})

test('what a station has used does not leave, and comes from nowhere', async () => {
  const [source, target] = pair(2)
  cpSync(source, target, { recursive: true })
  await next(target)
  const { code, stderr } = await move(source, target, '-n', '2')
  expect(code).toBe(3)
  expect(stderr).toContain(`1 profile not moved: used in ${target}`)
  expect([unusedIn(source), unusedIn(target)]).toEqual([[1, 2].map(fileOf), [fileOf(2)]])
})

test('an earlier version does not print what was moved', () => {
  // It takes a file for a profile that has these two fields.
  expect.hasAssertions()
  return pairMoved().then((source) => {
    const tombstone = JSON.parse(readFileSync(join(source, `__${fileOf(1)}`), 'utf8'))
    expect([tombstone.iccid, tombstone.profile]).toEqual([undefined, undefined])
  })
})

async function pairMoved() {
  const [source, target] = pair(1)
  await move(source, target, '--all')
  return source
}

describe.skipIf(!hasSmallDisks)('a stick that is too small', () => {
  test('is refused before anything is claimed: each file takes a block', async () => {
    const disk = await smallDisk(1)
    try {
      const source = directoryOf(someProfiles(150))
      const target = join(disk.path, 'profiles')
      disk.fill(140)
      const refused = /not enough disk space for 150 profiles in \S+: .* needed, .* free/
      expect(await move(source, target, '--all')).toEqual(
        failure(9, refused, /move fewer.*nothing was moved/),
      )
      expect(unusedIn(source)).toHaveLength(150)
      expect(existsSync(target)).toBe(false)
      expect(existsSync(join(source, '.moves'))).toBe(false)
    } finally {
      await disk.close()
    }
  })

  test.each(['with space again', 'on a larger disk'])('that fills up: the move waits (%s)', async (where) => {
    const disk = await smallDisk(1)
    try {
      const target = join(disk.path, 'profiles')
      const { source } = await halfMoved('given', 40, target)
      disk.fill(12)
      for (const _ of [1, 2, 3]) {
        const full = await move(source, target, '-n', '40')
        expect(full.code).toBe(9)
        expect(full.stderr).toMatch(/error: can't store profiles in \S+: no space left/)
        expect(full.stderr).toMatch(/hint: free disk space.* to a larger disk/)
      }
      expect(namesIn(join(target, '.claims'))).toEqual([])
      const larger = join(temporaryDirectory(), 'larger')
      if (where === 'on a larger disk') cpSync(target, larger, { recursive: true })
      else disk.clear()
      const now = existsSync(larger) ? larger : target
      expect((await move(source, now, '-n', '40')).code).toBe(0)
      expect(await status(now)).toMatchObject({ unused: 40 })
      expect(await status(source)).toMatchObject({ unused: 3, moved: 40, inTransit: 0 })
    } finally {
      await disk.close()
    }
  })
})
