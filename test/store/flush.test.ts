import { afterEach, describe, expect, test, vi } from 'vitest'
import { flushDirectory, flushDirectorySync } from '../../src/store/flush.ts'
import { temporaryDirectory } from '../support/directory.ts'

/** What the file system does once its disk has failed; nothing here can bring a real XFS to that. */
const disk = vi.hoisted(() => ({ flushFails: false, shutsDown: false, hasShutDown: false }))

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const failed = () => Object.assign(new Error('EIO: i/o error'), { code: 'EIO' })
  const flushed = () => {
    if (disk.flushFails) throw failed()
    // From now on: the flush itself goes well.
    disk.hasShutDown ||= disk.shutsDown
  }
  const mocked = {
    ...fs,
    openSync: (...args: Parameters<typeof fs.openSync>) => {
      if (disk.hasShutDown) throw failed()
      return fs.openSync(...args)
    },
    fsyncSync: flushed,
    fsync: (_file: number, done: (error: unknown) => void) => {
      try {
        flushed()
        done(null)
      } catch (error) {
        done(error)
      }
    },
  }
  return { ...mocked, default: mocked }
})

afterEach(() => {
  Object.assign(disk, { flushFails: false, shutsDown: false, hasShutDown: false })
})

const WAYS: [string, (path: string) => unknown][] = [
  ['at once', flushDirectorySync],
  ['while other things go on', flushDirectory],
]

describe.skipIf(process.platform === 'win32').each(WAYS)('a directory is flushed %s', (_, flush) => {
  const flushed = async (path: string) => flush(path)

  test('where the disk is sound', async () => {
    await flushed(temporaryDirectory())
  })

  test('and it fails where the disk says so', async () => {
    disk.flushFails = true
    await expect(flushed(temporaryDirectory())).rejects.toThrow('EIO')
  })

  test('and it fails where the file system says yes after it has shut down', async () => {
    disk.shutsDown = true
    await expect(flushed(temporaryDirectory())).rejects.toThrow('EIO')
  })
})
