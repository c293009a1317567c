import type { StatsFs } from 'node:fs'
import { expect, test, vi } from 'vitest'
import {
  checkSpaceForBatch,
  checkSpaceForMove,
  checkSpaceForOrder,
  shortageOf,
} from '../../../src/store/incoming/free-space.ts'
import { temporaryDirectory } from '../../support/directory.ts'
import { disk } from '../../support/watched-fs.ts'

vi.mock('node:fs', async () => (await import('../../support/watched-fs.ts')).watchedFs)

const GB = 2 ** 30
/** A disk with space for all of them. */
const LARGE = { bsize: 4096, blocks: GB, bfree: GB, bavail: GB, files: 1e6, ffree: 1e6 }
const status = (changes: Partial<StatsFs>) => ({ ...LARGE, ...changes }) as StatsFs
const target = () => ({ directory: temporaryDirectory(), rights: 0o700 })

test.each<[string, Partial<StatsFs>, boolean]>([
  ['enough of both', {}, true],
  ['no blocks', { bfree: 0, bavail: 0 }, false],
  ['blocks for the superuser only', { bavail: 0 }, false],
  ['too few blocks: 16 KiB per profile', { bfree: 3999, bavail: 3999 }, false],
  ['just enough blocks', { bavail: 4000 }, true],
  ['no files', { ffree: 0 }, false],
  ['too few files', { ffree: 999 }, false],
  ['just enough files', { ffree: 1000 }, true],
  ['few of a billion files free', { files: 1e9, ffree: 999 }, false],
  ['no number of files: FAT, btrfs', { files: 0, ffree: 0 }, true],
  ['an invented number of files, none of them free', { files: 1e9, ffree: 0 }, true],
  ['no size at all', { blocks: 0, bfree: 0, bavail: 0 }, true],
  ['no block size', { bsize: 0, bavail: 0 }, true],
  ['nothing but zeros', { bsize: 0, blocks: 0, bfree: 0, bavail: 0, files: 0, ffree: 0 }, true],
])('space for a batch of 1000, the file system reports: %s', (_, changes, has) => {
  disk.space = status(changes)
  const check = () => checkSpaceForBatch(target(), 1000)
  if (has) expect(check).not.toThrow()
  else expect(check).toThrow(/^not enough disk space for 1000 more profiles in /)
})

test('what is needed and what is free is named', () => {
  const few = [{ bavail: 10 }, { bavail: 0 }, { bavail: 3999 }, { ffree: 3 }]
  expect(few.map((changes) => shortageOf(status(changes), 1000, 16 * 1024))).toEqual([
    '16.4 MB needed, 41 kB free',
    '16.4 MB needed, 0 kB free',
    '16.4 MB needed, 16.4 MB free',
    '1000 files needed, 3 free',
  ])
})

test('a whole order is refused only if there can be no space for it', () => {
  const order = (changes: Partial<StatsFs>, profiles: number) => {
    disk.space = status({ bavail: 25_000, ffree: 100_000, ...changes })
    return () => checkSpaceForOrder(target(), profiles)
  }
  expect(order({}, 100_000)).not.toThrow()
  expect(order({}, 100_001)).toThrow('at least 102.4 MB needed, 102.4 MB free')
  expect(order({ ffree: 99_999 }, 100_000)).toThrow('at least 100000 files needed, 99999 free')
  expect(order({ files: 0, ffree: 0 }, 100_000)).not.toThrow()
  expect(order({ bsize: 0, blocks: 0, bavail: 0, files: 0, ffree: 0 }, 999_999_999)).not.toThrow()
})

test.each<[string, Partial<StatsFs>, boolean]>([
  ['a block for each, and what is put aside first', { bavail: 150 }, true],
  ['a block for each', { bavail: 100 }, false],
  ['large blocks, as on a stick', { bsize: 32 * 1024, bavail: 50 }, false],
  ['as much as a network transfers at once', { bsize: 1024 * 1024, bavail: 1 }, true],
])('for a move: %s', (_, changes, isEnough) => {
  disk.space = status(changes)
  const check = expect(() => checkSpaceForMove(target(), 100, 1000))
  if (isEnough) check.not.toThrow()
  else check.toThrow(/not enough disk space for 100 profiles in .* needed, .* free/)
})
