import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
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
    for (let n = 0; n < times; n++) queue.noteGone(true)
  }
  gone(63)
  queue.noteGone(false)
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
  queue.noteGone(true)
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
  queue.noteGone(true)
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
