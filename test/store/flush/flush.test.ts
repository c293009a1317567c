import { existsSync, mkdirSync, statSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import {
  flushDirectory,
  flushDirectorySync,
  flushFiles,
  flushUnlessGone,
  OpenDirectory,
  writeAllFlushed,
} from '../../../src/store/flush/flush.ts'
import { temporaryDirectory } from '../../support/directory.ts'
import { isWindows } from '../../support/system.ts'

const MEMORY = '/dev/shm'

/** What the disk answers to a flush, and to opening: nothing unusual where it is undefined. */
const disk = vi.hoisted(() => ({
  flushError: undefined as string | undefined,
  openError: undefined as string | undefined,
  open: new Set<number>(),
  /** Of statfs(2). */
  type: 0,
  /** The inodes of what was flushed. */
  flushed: [] as number[],
  /** When flushes that do not block began and ended. */
  course: [] as string[],
}))

vi.mock('node:fs', async (importOriginal) => {
  const fs = await importOriginal<typeof import('node:fs')>()
  const failing = (code: string | undefined) => {
    if (code !== undefined) throw Object.assign(new Error(code), { code })
  }
  return {
    ...fs,
    openSync(...args: Parameters<typeof fs.openSync>) {
      failing(disk.openError)
      const file = fs.openSync(...args)
      disk.open.add(file)
      return file
    },
    closeSync(file: number) {
      fs.closeSync(file)
      disk.open.delete(file)
    },
    fsyncSync(file: number) {
      failing(disk.flushError)
      disk.flushed.push(fs.fstatSync(file).ino)
      fs.fsyncSync(file)
    },
    statfsSync: () => ({ type: disk.type }),
    fsync(file: number, done: (error: unknown) => void) {
      if (disk.flushError === undefined) {
        const what = fs.fstatSync(file).isDirectory() ? 'directory' : 'file'
        disk.course.push(`${what} begins`)
        fs.fsync(file, (error) => {
          disk.course.push(`${what} ends`)
          done(error)
        })
      } else setImmediate(done, Object.assign(new Error(disk.flushError), { code: disk.flushError }))
    },
  }
})

beforeEach(() => {
  disk.open.clear()
  Object.assign(disk, { flushError: undefined, openError: undefined, type: 0, flushed: [], course: [] })
})

const ways = [
  ['synchronously', async (path: string) => flushDirectorySync(path)],
  ['asynchronously', flushDirectory],
] as const

// Windows flushes none.
describe.skipIf(isWindows).each(ways)('a directory that is flushed %s', (_, flush) => {
  test('can be flushed on most file systems', async () => {
    expect(await flush(temporaryDirectory())).toBe(true)
  })

  // The kernel's own answer.
  test.skipIf(!existsSync('/proc/self/fd'))("can't be flushed on some, which is not an error", async () => {
    expect(await flush('/proc/self')).toBe(false)
  })

  test.each(['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'EBADF', 'ENOSYS'])('%s is no error either', async (code) => {
    disk.flushError = code
    expect(await flush(temporaryDirectory())).toBe(false)
  })

  test.each(['EIO', 'ENOSPC', 'EDQUOT', 'EROFS'])('%s is an error', async (code) => {
    disk.flushError = code
    await expect(flush(temporaryDirectory())).rejects.toMatchObject({ code })
  })

  test('that does not exist is an error', async () => {
    await expect(flush(join(temporaryDirectory(), 'missing'))).rejects.toMatchObject({ code: 'ENOENT' })
  })
})

describe.skipIf(isWindows)('a directory that is held open', () => {
  test.each([
    ['flushSync', undefined],
    ['flush', undefined],
    ['flushSync', 'EINVAL'],
    ['flush', 'EINVAL'],
  ] as const)(
    '%s fails if it can’t be opened again, also if none can be flushed (%s)',
    async (flush, error) => {
      const held = new OpenDirectory(temporaryDirectory())
      Object.assign(disk, { flushError: error, openError: 'EIO' })
      await expect(async () => held[flush]()).rejects.toMatchObject({ code: 'EIO' })
      held.close()
    },
  )

  const hasOneDisk = !existsSync(MEMORY) || statSync(MEMORY).dev === statSync(temporaryDirectory()).dev
  test.skipIf(hasOneDisk)('another disk at the same path is no place for what was flushed', () => {
    const link = join(temporaryDirectory(), 'link')
    symlinkSync(temporaryDirectory(), link)
    const held = new OpenDirectory(link)
    unlinkSync(link)
    symlinkSync(MEMORY, link)
    expect(() => held.flushSync()).toThrow('another disk is at')
    held.close()
  })

  test.each(ways)('is closed after a flush %s, whatever its result', async (_, flush) => {
    await flush(temporaryDirectory())
    disk.flushError = 'EIO'
    await expect(async () => flush(temporaryDirectory())).rejects.toThrow()
    expect([...disk.open]).toEqual([])
  })
})

// Linux would keep the first names of a directory that was just made.
describe.skipIf(process.platform !== 'linux')('on FAT', () => {
  test.each(ways)('the directory above is flushed too: %s', async (_, flush) => {
    const above = temporaryDirectory()
    const directory = join(above, 'profiles')
    mkdirSync(directory)
    await flush(directory)
    expect(disk.flushed).not.toContain(statSync(above).ino)
    disk.type = 0x4d44
    await flush(directory)
    expect(disk.flushed).toContain(statSync(above).ino)
    expect([...disk.open]).toEqual([])
  })
})

describe.skipIf(process.platform !== 'linux')('a claim', () => {
  async function flush(type: number): Promise<string[]> {
    const directory = temporaryDirectory()
    const path = join(directory, '1.json')
    writeFileSync(path, '')
    disk.type = type
    const opened = new OpenDirectory(directory)
    expect(await opened.flushWith([path])).toBe(true)
    opened.close()
    return disk.course
  }

  test.each([
    ['FAT', 0x4d44],
    ['exFAT', 0x2011bab0],
    ['NFS', 0x6969],
    ['btrfs, which has a log for each directory', 0x9123683e],
  ])('is flushed before its name on %s', async (_, type) => {
    expect(await flush(type)).toEqual(['file begins', 'file ends', 'directory begins', 'directory ends'])
  })

  test.each(Object.entries({ ext4: 0xef53, xfs: 0x58465342 }))(
    'is flushed together with its name on %s',
    async (_, type) => {
      const course = await flush(type)
      expect(course.slice(0, 2)).toEqual(['file begins', 'directory begins'])
      expect(course).toHaveLength(4)
    },
  )
})

test('each of many files is flushed', async () => {
  const paths = Array.from({ length: 130 }, (_, n) => `${n}.json`)
  const flushed: string[] = []
  await flushFiles(paths, async (path) => void flushed.push(path))
  expect(flushed).toEqual(paths)
})

test('what could not be flushed with all others is flushed alone', async () => {
  const files = new Map([[join(temporaryDirectory(), '1.json'), '']])
  await writeAllFlushed(files, 0o600, { isFor: async () => true, flush: async () => false })
  expect(disk.course).toEqual(['file begins', 'file ends'])
})

test('a missing file is an error, unless it is allowed', async () => {
  const directory = temporaryDirectory()
  await expect(flushFiles([join(directory, '1.json')])).rejects.toMatchObject({ code: 'ENOENT' })
  await flushFiles([join(directory, '1.json')], flushUnlessGone)
  writeFileSync(join(directory, '1.json'), '')
  disk.flushError = 'EIO'
  await expect(flushUnlessGone(join(directory, '1.json'))).rejects.toMatchObject({ code: 'EIO' })
})
