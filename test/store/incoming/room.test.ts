import type { StatsFs } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { checkOrder, checkRoom } from '../../../src/store/incoming/target.ts'
import { temporaryDirectory } from '../../support/directory.ts'

/** What the file system says; undefined for the real one. */
const disk = vi.hoisted(() => ({ says: undefined as Partial<StatsFs> | undefined }))

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const statfsSync = (path: string) => disk.says ?? fs.statfsSync(path)
  return { ...fs, statfsSync, default: { ...fs, statfsSync } }
})

/** A gigabyte in all. */
const LARGE = { bsize: 4096, blocks: 262_144, files: 65_536 }

const check = (says: Partial<StatsFs> | undefined, profiles: number) => {
  disk.says = says
  checkRoom({ directory: temporaryDirectory(), rights: 0o700 }, profiles)
}

test.each<[string, Partial<StatsFs>]>([
  ['no block', { ...LARGE, bfree: 0, bavail: 0, ffree: 65_000 }],
  ['too few blocks', { ...LARGE, bfree: 999, bavail: 999, ffree: 65_000 }],
  ['blocks for the superuser only', { ...LARGE, bfree: 100_000, bavail: 0, ffree: 65_000 }],
  ['no file', { ...LARGE, bfree: 100_000, bavail: 100_000, ffree: 0 }],
  ['too few files', { ...LARGE, bfree: 100_000, bavail: 100_000, ffree: 999 }],
])('there is no space for 1000 profiles if %s is free', (_, says) => {
  expect(() => check(says, 1000)).toThrow(
    expect.objectContaining({
      outcome: 'disk',
      message: expect.stringContaining('not enough disk space for 1000'),
    }),
  )
})

test('there is space if enough is free', () => {
  expect(() => check({ ...LARGE, bfree: 100_000, bavail: 100_000, ffree: 10_000 }, 1000)).not.toThrow()
})

test.each<[string, Partial<StatsFs>]>([
  ['files', { ...LARGE, bfree: 100_000, bavail: 100_000, files: 0, ffree: 0 }],
  ['blocks', { bsize: 0, blocks: 0, bfree: 0, bavail: 0, files: 65_536, ffree: 65_000 }],
])('a file system that does not report its %s is tried anyway', (_, says) => {
  expect(() => check(says, 1000)).not.toThrow()
})

test('a whole order is refused only if there can be no room for it', () => {
  const order = (says: Partial<StatsFs>, profiles: number) => {
    disk.says = says
    return () => checkOrder({ directory: temporaryDirectory(), rights: 0o700 }, profiles)
  }
  const has = { ...LARGE, bfree: 100_000, bavail: 25_000, files: 262_144, ffree: 100_000 }
  expect(order(has, 100_000)).not.toThrow()
  expect(order(has, 100_001)).toThrow('at least 102.4 MB needed, 102.4 MB free')
  expect(order({ ...has, ffree: 99_999 }, 100_000)).toThrow('at least 100000 files needed, 99999 free')
  expect(order({ ...has, files: 0, ffree: 0 }, 100_000)).not.toThrow()
  expect(order({ bsize: 0, blocks: 0, bavail: 0, files: 0, ffree: 0 }, 999_999_999)).not.toThrow()
})

test('the disk of this machine has space for one profile, but not for more than any disk holds', () => {
  expect(() => check(undefined, 1)).not.toThrow()
  expect(() => check(undefined, Number.MAX_SAFE_INTEGER)).toThrow('not enough disk space')
})
