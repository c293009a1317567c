import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { FreeList } from '../../src/store/queue.ts'
import { temporaryDirectory } from '../support/directory.ts'

/** How many bytes of a write the disk takes; undefined if it takes all, -1 if it fails. */
const disk = vi.hoisted(() => ({ takes: undefined as number | undefined }))

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const writeSync = (file: number, text: string, at?: number) => {
    if (disk.takes === undefined) return fs.writeSync(file, text, at)
    if (disk.takes < 0) throw Object.assign(new Error('EIO'), { code: 'EIO' })
    return fs.writeSync(file, text.slice(0, disk.takes), at)
  }
  return { ...fs, writeSync, default: { ...fs, writeSync } }
})

afterEach(() => {
  disk.takes = undefined
})

const ICCIDS = ['89881', '89882', '89883', '89884']

/** A directory with a hint, as several stations have it open. */
function stations(count: number): FreeList[] {
  const directory = temporaryDirectory()
  FreeList.write(directory, ICCIDS)
  return Array.from({ length: count }, () => FreeList.open(directory) as FreeList)
}

test('all that one call reserved is given back, however often it reserved', () => {
  const [mine, other] = stations(2)
  expect([mine?.reserve(1), mine?.reserve(2)]).toEqual([['89881'], ['89882', '89883']])
  mine?.giveBack()
  expect(other?.reserve(9)).toEqual(ICCIDS)
  for (const each of [mine, other]) each?.close()
})

test('nothing is given back that another call reserved meanwhile', () => {
  const [mine, other] = stations(2)
  mine?.reserve(1)
  other?.reserve(1)
  mine?.giveBack()
  expect(mine?.reserve(9)).toEqual(['89883', '89884'])
  for (const each of [mine, other]) each?.close()
})

/** A directory with a hint, and its text. */
function written(iccids = ICCIDS) {
  const directory = temporaryDirectory()
  expect(FreeList.write(directory, iccids)).toBe(true)
  const path = join(directory, '.unused')
  return { directory, path, text: readFileSync(path, 'utf8') }
}

/** What a call finds that wants more profiles than there are. */
function allOf(directory: string): string[] | undefined {
  const hint = FreeList.open(directory)
  const all = hint?.reserve(9999)
  hint?.close()
  return all
}

test('a long list comes back as it was', () => {
  const many = Array.from({ length: 5000 }, (_, n) => `8988${String(n).padStart(15, '0')}`)
  const { directory } = written(many)
  expect(allOf(directory)).toEqual(many)
})

test('the position of a call is that of the next one, and left counts behind it', () => {
  const { directory } = written()
  const hint = FreeList.open(directory)
  expect([hint?.left, hint?.reserve(3)?.length, hint?.left]).toEqual([4, 3, 1])
  hint?.close()
  expect(allOf(directory)).toEqual(['89884'])
  expect(allOf(directory)).toEqual([])
})

test.each<[string, (text: string) => string]>([
  ['is of another version', (text) => text.replace('unused 1', 'unused 2')],
  ['has no number of profiles', (text) => text.replace(/\n4 /, '\nx ')],
  ['is empty', () => ''],
])('a hint that %s is none', (_, change) => {
  const { directory, path, text } = written()
  writeFileSync(path, change(text))
  expect(FreeList.open(directory)).toBeUndefined()
})

test.each<[string, (text: string) => string]>([
  ['has a position behind its end', (text) => text.replace(/\n0 /, '\n9 ')],
  ['has no position', (text) => text.replace(/\n0 /, '\nx ')],
])('a hint that %s is at its end', (_, change) => {
  const { directory, path, text } = written()
  writeFileSync(path, change(text))
  const hint = FreeList.open(directory)
  expect([hint?.left, hint?.reserve(1)]).toEqual([0, []])
  hint?.close()
})

test('lines that are no ICCIDs are left out, and so is what a torn list has lost', () => {
  const { directory, path, text } = written()
  writeFileSync(path, text.replace('89882', 'x9882'))
  truncateSync(path, text.length - 1)
  expect(allOf(directory)).toEqual(['89881', '89883'])
})

test.each([-1, 10])('nothing is reserved if its position can’t be written: %i', (takes) => {
  const { directory } = written()
  const hint = FreeList.open(directory)
  disk.takes = takes
  expect(hint?.reserve(2)).toBeUndefined()
  hint?.close()
})

test('a hint that can’t be written leaves nothing behind', () => {
  const directory = temporaryDirectory()
  mkdirSync(join(directory, '.unused'))
  expect(FreeList.write(directory, ICCIDS)).toBe(false)
  expect(readdirSync(directory)).toEqual(['.unused'])
  FreeList.drop(directory)
  expect(readdirSync(directory)).toEqual(['.unused'])
})
