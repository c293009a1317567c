import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, parse, resolve } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { closeTarget, openTarget } from '../../../src/store/incoming/target.ts'
import { isDirectory, makeDirectory } from '../../../src/store/make-directory.ts'
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
