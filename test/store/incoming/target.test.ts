import { mkdirSync, type StatsFs, symlinkSync, writeFileSync } from 'node:fs'
import { join, parse, resolve } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { isDirectory, makeDirectory } from '../../../src/store/incoming/make-directory.ts'
import { checkRoom, closeTarget, openTarget, shortageOf } from '../../../src/store/incoming/target.ts'
import { temporaryDirectory } from '../../support/directory.ts'
import { hasSymlinks } from '../../support/system.ts'

/** As Windows answers to every path on a drive or share that is not there. */
const drive = vi.hoisted(() => ({ isMissing: false }))

vi.mock('node:fs', async (importOriginal) => {
  const fs = await importOriginal<typeof import('node:fs')>()
  const missing = () => Object.assign(new Error('ENOENT'), { code: 'ENOENT' })
  return {
    ...fs,
    mkdirSync(path: string, options?: object) {
      if (drive.isMissing) throw missing()
      return fs.mkdirSync(path, options)
    },
    statSync: (path: string, options?: object) => (drive.isMissing ? undefined : fs.statSync(path, options)),
    lstatSync: (path: string, options?: object) =>
      drive.isMissing ? undefined : fs.lstatSync(path, options),
  }
})

afterEach(() => {
  drive.isMissing = false
})

describe('space for more profiles', () => {
  const GB = 2 ** 30
  /** A disk with room for all of them. */
  const large = { bsize: 4096, blocks: GB, bavail: GB, files: 1e6, ffree: 1e6 }
  const status = (changes: Partial<StatsFs>) => ({ ...large, ...changes }) as StatsFs

  test.each([
    ['enough of both', {}, true],
    ['no blocks', { bavail: 0 }, false],
    ['too few blocks: 16 KiB per profile', { bavail: 3999 }, false],
    ['just enough blocks', { bavail: 4000 }, true],
    ['no files', { ffree: 0 }, false],
    ['too few files', { ffree: 999 }, false],
    ['just enough files', { ffree: 1000 }, true],
    ['few of a billion files free', { files: 1e9, ffree: 999 }, false],
    ['no number of files: FAT, btrfs', { files: 0, ffree: 0 }, true],
    ['an invented number of files, none of them free', { files: 1e9, ffree: 0 }, true],
    ['no size at all', { blocks: 0, bavail: 0 }, true],
    ['no block size', { bsize: 0, bavail: 0 }, true],
    ['nothing but zeros', { bsize: 0, blocks: 0, bavail: 0, files: 0, ffree: 0 }, true],
  ])('space for 1000 profiles, the file system reports: %s', (_, changes, has) => {
    expect(shortageOf(status(changes), 1000, 16 * 1024) === undefined).toBe(has)
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

  test('if the file system reports nothing, it tries anyway', () => {
    const directory = join(temporaryDirectory(), 'statfs fails here')
    expect(() => checkRoom({ directory, rights: 0o700 }, 1000)).not.toThrow()
  })

  test('more than any disk has', () => {
    const directory = temporaryDirectory()
    expect(() => checkRoom({ directory, rights: 0o700 }, 1e15)).toThrow('not enough disk space')
  })
})

describe('creating the directory', () => {
  test('what was made for nothing is removed, and what was there stays', async () => {
    const root = temporaryDirectory()
    const directory = join(root, 'new', 'profiles')
    closeTarget(await openTarget(directory))
    expect([isDirectory(root), isDirectory(join(root, 'new'))]).toEqual([true, false])
    mkdirSync(directory, { recursive: true })
    closeTarget(await openTarget(directory))
    expect(isDirectory(directory)).toBe(true)
  })

  test('what another fetch works in stays', async () => {
    const directory = join(temporaryDirectory(), 'profiles')
    const [first, second] = [await openTarget(directory), await openTarget(directory)]
    closeTarget(first)
    expect(isDirectory(directory)).toBe(true)
    closeTarget(second)
  })

  test('with its parent directories', async () => {
    const directory = join(temporaryDirectory(), 'a', 'b', 'c')
    await makeDirectory(directory)
    await makeDirectory(directory)
    expect(isDirectory(directory)).toBe(true)
  })

  test.skipIf(!hasSymlinks)('a link to a directory is accepted', async () => {
    const above = temporaryDirectory()
    mkdirSync(join(above, 'real'))
    symlinkSync('real', join(above, 'link'), 'dir')
    await makeDirectory(join(above, 'link'))
    await makeDirectory(join(above, 'link', 'new'))
    expect(isDirectory(join(above, 'real', 'new'))).toBe(true)
  })

  test.skipIf(!hasSymlinks)('a dangling link, as when nothing is mounted', async () => {
    const link = join(temporaryDirectory(), 'link')
    symlinkSync('nothing', link, 'dir')
    await expect(makeDirectory(link)).rejects.toThrow(`${link} is a broken link`)
    await expect(makeDirectory(join(link, 'new'))).rejects.toThrow(`${link} is a broken link`)
  })

  test('a file in its place or in place of a parent', async () => {
    const file = join(temporaryDirectory(), 'file')
    writeFileSync(file, '')
    await expect(makeDirectory(file)).rejects.toThrow(`${file} is not a directory`)
    await expect(makeDirectory(join(file, 'new'))).rejects.toThrow(`${file} is not a directory`)
  })

  test('a drive that does not exist', async () => {
    drive.isMissing = true
    const root = parse(resolve('/')).root
    await expect(makeDirectory(join(root, 'a', 'b'))).rejects.toThrow(`drive or share ${root} does not exist`)
    await expect(makeDirectory(root)).rejects.toThrow(`drive or share ${root} does not exist`)
  })

  test('a path whose root does not exist', async () => {
    drive.isMissing = true
    await expect(makeDirectory(join('a', 'b'))).rejects.toMatchObject({ code: 'ENOENT' })
  })
})
