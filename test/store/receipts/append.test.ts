import { closeSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { adviceOn } from '../../../src/advice/advice.ts'
import type { Ready } from '../../../src/next/ready.ts'
import { isOutput, ReceiptFile } from '../../../src/store/receipts/append.ts'
import { temporaryDirectory } from '../../support/directory.ts'
import { hasPosix } from '../../support/system.ts'

/** What the file system says of its space, and what happens to files, in this order. */
const disk = vi.hoisted(() => ({
  space: undefined as object | undefined,
  blocks: undefined as number | undefined,
  steps: [] as string[],
}))

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const changed = {
    statfsSync: (path: string) => disk.space ?? fs.statfsSync(path),
    fstatSync: (file: number) =>
      Object.assign(fs.fstatSync(file), disk.blocks === undefined ? {} : { blocks: disk.blocks }),
    writeFileSync: (...args: Parameters<typeof fs.writeFileSync>) => {
      disk.steps.push('write')
      fs.writeFileSync(...args)
    },
    fsyncSync: (file: number) => {
      disk.steps.push('flush')
      fs.fsyncSync(file)
    },
  }
  return { ...fs, ...changed, default: { ...fs, ...changed } }
})

const place = () => {
  const directory = temporaryDirectory()
  return { directory, path: join(directory, 'receipt.jsonl') }
}
const taken = (iccid: string, more: Partial<Ready> = {}): Ready => ({
  ...{ iccid, name: `${iccid}.json`, stored: '', newerProblems: [], missingKeys: [], line: '', ...more },
})

beforeEach(() => {
  Object.assign(disk, { space: undefined, blocks: undefined })
})
afterEach(() => {
  vi.restoreAllMocks()
})

test('a line for each profile, in one write that is flushed', () => {
  const { directory, path } = place()
  const receipt = new ReceiptFile(path, directory, 2)
  disk.steps = []
  receipt.append([taken('8981'), taken('8982', { name: '8982F.json', device: 'D', isAgain: true })])
  expect(disk.steps).toEqual(['write', 'flush'])
  const lines = readFileSync(path, 'utf8').split('\n')
  expect(lines.slice(0, 2).map((line) => JSON.parse(line))).toMatchObject([
    { device: null, iccid: '8981', directory, file: '__8981.json', again: false },
    { device: 'D', iccid: '8982', directory, file: '__8982F.json', again: true },
  ])
  expect(lines.slice(2)).toEqual([''])
})

describe('what is there already', () => {
  const BEGINNING = '{"time":"'

  test.each([
    ['nothing', '', ''],
    ['receipts', `${BEGINNING}...\n`, `${BEGINNING}...\n`],
    ['a torn line', `${BEGINNING}...\n${BEGINNING}`, `${BEGINNING}...\n${BEGINNING}\n`],
    ['one letter', '{', '{\n'],
    ['a torn first line before others', `{"ti\n${BEGINNING}...\n`, `{"ti\n${BEGINNING}...\n`],
  ])('%s: lines are added to it', (_, before, kept) => {
    const { directory, path } = place()
    writeFileSync(path, before)
    new ReceiptFile(path, directory, 1).append([taken('8981')])
    expect(readFileSync(path, 'utf8')).toMatch(kept)
    expect(readFileSync(path, 'utf8').slice(kept.length)).toMatch(/^\{"time":"[^\n]*\n$/)
  })
})

test('it may be called as you like, but not like a profile', () => {
  const { directory } = place()
  for (const name of ['receipts.json', 'x8981.json']) new ReceiptFile(join(directory, name), directory, 1)
  for (const name of ['8981.json', '__8981F.json', '8981.JSON', '8981.json.'])
    expect(() => new ReceiptFile(join(directory, name), directory, 1), name).toThrow('the name of a profile')
})

describe('there must be room for it', () => {
  /** The least number of free bytes that is enough. */
  function roomFor(count: number, devices: string[] = [], spaceOf = free) {
    const { directory, path } = place()
    writeFileSync(path, '')
    let [least, most] = [0, 4096]
    while (least < most) {
      const bytes = Math.floor((least + most) / 2)
      disk.space = spaceOf(bytes)
      try {
        new ReceiptFile(path, directory, count, { devices })
        most = bytes
      } catch (error) {
        const hint = expect.stringContaining('free disk space')
        expect(adviceOn(error)).toMatchObject({ outcome: 'disk', hint })
        least = bytes + 1
      }
    }
    return { bytes: least, directory, path }
  }

  const free = (bytes: number) => ({ blocks: 1, bsize: 1, bavail: bytes, bfree: bytes })

  test.each([
    [1, undefined],
    [3, undefined],
    [3, ['A', 'x'.repeat(128), '"\u{1f4f1}"']],
  ])('at least as much as %i lines take, and not much more (%j)', (count, devices) => {
    disk.blocks = 0
    const { bytes, directory } = roomFor(count, devices)
    const path = join(directory, 'another')
    // A line break comes first.
    writeFileSync(path, '{')
    disk.space = undefined
    const all = Array.from({ length: count }, (_, n) =>
      taken('9'.repeat(20), devices ? { device: devices[n] ?? '' } : {}),
    )
    new ReceiptFile(path, directory, count, { devices }).append(all)
    const needed = statSync(path).size - 1
    expect(bytes).toBeGreaterThanOrEqual(needed)
    expect(bytes).toBeLessThan(needed + 50)
  })

  test('the last block of the file counts', () => {
    disk.blocks = 8
    expect(roomFor(1).bytes).toBe(0)
    disk.blocks = 0
    const { bytes } = roomFor(5)
    disk.blocks = 1
    // What does not fit into it must fit elsewhere.
    expect(roomFor(5).bytes).toBe(bytes - 512)
  })

  test.skipIf(!hasPosix)('what is kept for root is root’s', () => {
    disk.blocks = 0
    const kept = (bytes: number) => ({ ...free(0), bfree: bytes })
    vi.spyOn(process, 'getuid').mockReturnValue(0)
    expect(roomFor(1, [], kept).bytes).toBeGreaterThan(100)
    vi.spyOn(process, 'getuid').mockReturnValue(1000)
    disk.space = kept(1e6)
    const { directory, path } = place()
    expect(() => new ReceiptFile(path, directory, 1)).toThrow('not enough disk space')
  })

  test.each([
    { blocks: 0, bsize: 1 },
    { blocks: 1, bsize: 0 },
  ])('a file system that tells nothing is tried: %j', (space) => {
    disk.space = { ...free(0), ...space }
    disk.blocks = 0
    const { directory, path } = place()
    expect(new ReceiptFile(path, directory, 1).path).toBe(path)
  })
})

test('the file that standard output goes to is recognized; what can’t be described is not a file', () => {
  const path = join(temporaryDirectory(), 'receipt.jsonl')
  const other = join(temporaryDirectory(), 'receipt.jsonl')
  writeFileSync(other, '')
  const output = openSync(path, 'w')
  expect([isOutput(statSync(path), output), isOutput(statSync(other), output)]).toEqual([true, false])
  // Files of two disks can have the same number.
  const { dev, ino } = statSync(path)
  expect(isOutput(Object.assign(statSync(path), { dev: dev + 1, ino }), output)).toBe(false)
  closeSync(output)
  // As a serial port on Windows, where fstat fails.
  expect(isOutput(statSync(path), 2 ** 31 - 1)).toBe(false)
})
