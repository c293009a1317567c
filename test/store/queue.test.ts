import { mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { FreeList, leaveFreeList, Queue } from '../../src/store/queue.ts'
import type { Messages } from '../../src/words.ts'
import { temporaryDirectory } from '../support/directory.ts'

vi.mock('../../src/pause.ts', () => ({ pause: () => {} }))

const SILENT = { warn: () => {}, tell: () => {} }
const iccid = (n: number) => `8988000000000000${String(n).padStart(3, '0')}`
const iccids = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => iccid(from + n))

/** A directory with so many profiles, and a hint that lists them. */
function directoryOf(count: number): string {
  const directory = temporaryDirectory()
  for (const each of iccids(1, count)) writeFileSync(join(directory, `${each}.json`), '')
  leaveFreeList(directory, SILENT)
  return directory
}

/** How many profiles the last reading of the directory has found. */
const foundBy = (queue: Queue) => queue.found.iccids.length

test('while the hint lists enough, nobody reads the directory', () => {
  const queue = new Queue(directoryOf(4), SILENT)
  expect([queue.has(4), foundBy(queue), queue.left]).toEqual([true, 0, 4])
  expect(queue.next(3)).toEqual(iccids(1, 3))
  expect([foundBy(queue), queue.left]).toEqual([0, 1])
  expect([queue.has(2), foundBy(queue)]).toEqual([true, 4])
  expect(queue.has(5)).toBe(false)
})

test('sixty-four missing files in a row: the directory is read', () => {
  const queue = new Queue(directoryOf(2), SILENT)
  const gone = (times: number) => {
    for (let n = 0; n < times; n++) queue.noteTaken(true)
  }
  gone(63)
  queue.noteTaken(false)
  gone(63)
  expect(foundBy(queue)).toBe(0)
  gone(1)
  expect(foundBy(queue)).toBe(2)
})

test('what others have reserved and may not take is found at the end', () => {
  const directory = directoryOf(3)
  const [queue, other] = [new Queue(directory, SILENT), new Queue(directory, SILENT)]
  expect(other.next(2)).toEqual(iccids(1, 2))
  expect(queue.next(2)).toEqual([iccid(3)])
  const rest: string[] = []
  for (let next = queue.next(1); next.length > 0; next = queue.next(1)) rest.push(...next)
  expect(rest).toEqual(expect.arrayContaining(iccids(1, 2)))
})

test('what is missing was taken elsewhere, so others may have been added: the directory is read once more', () => {
  const directory = directoryOf(1)
  const queue = new Queue(directory, SILENT)
  queue.has(2)
  expect(queue.next(1)).toEqual([iccid(1)])
  writeFileSync(join(directory, `${iccid(2)}.json`), '')
  queue.noteTaken(true)
  expect(queue.next(2)).toEqual([iccid(1)])
  expect(queue.next(2)).toEqual(iccids(1, 2))
})

test('without any profile, no hint stays', () => {
  const directory = directoryOf(1)
  rmSync(join(directory, `${iccid(1)}.json`))
  leaveFreeList(directory, SILENT)
  expect(FreeList.open(directory)).toBeUndefined()
})

test('where no hint can be written, the queue goes through what it has found', () => {
  const directory = directoryOf(3)
  rmSync(join(directory, '.unused'))
  mkdirSync(join(directory, '.unused'))
  const queue = new Queue(directory, SILENT)
  expect([queue.next(2), queue.left]).toEqual([iccids(1, 2), 1])
  // Somebody else has taken one of them: from the start.
  queue.noteTaken(true)
  expect([queue.next(9), queue.next(9)]).toEqual([[iccid(3)], iccids(1, 3)])
})

test.each<[string, (directory: string, messages: Messages) => unknown]>([
  ['a call that reads the directory', (directory, messages) => new Queue(directory, messages).has(99)],
  ['a fetch at its end', leaveFreeList],
])('%s names what an earlier version left half claimed', (_, look) => {
  const directory = directoryOf(2)
  writeFileSync(join(directory, `__${iccid(1)}.json`), '')
  const said: string[] = []
  look(directory, { ...SILENT, warn: (text) => said.push(text) })
  expect(said).toEqual([expect.stringContaining(`${iccid(1)} is set aside`)])
})

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
  mine?.unreserve()
  expect(other?.reserve(9)).toEqual(ICCIDS)
  for (const each of [mine, other]) each?.close()
})

test('nothing is given back that another call reserved meanwhile', () => {
  const [mine, other] = stations(2)
  mine?.reserve(1)
  other?.reserve(1)
  mine?.unreserve()
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
  expect(hint?.reserve(2)).toEqual([])
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
