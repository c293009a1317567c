import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, parse, resolve } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { identify } from '../../../src/store/identity.ts'
import { INCOMING } from '../../../src/store/incoming/answers.ts'
import { closeTarget, makeDirectory, openTarget } from '../../../src/store/incoming/target-directory.ts'
import { directoryOf, someProfiles, temporaryDirectory } from '../../support/directory.ts'
import { hasSymlinks } from '../../support/system.ts'
import { fail } from '../../support/watched-fs.ts'

vi.mock('node:fs', async () => (await import('../../support/watched-fs.ts')).watchedFs)

/** As Windows answers to every path on a drive that is not there. */
const loseDrive = () => fail(/^(mkdir|look)$/, '', 'ENOENT')
const refuseDirectories = (code: string) => fail(/^mkdir$/, '', code)

afterEach(() => {
  vi.restoreAllMocks()
})

test('a new one knows itself before anything is in it: a killed call leaves that; one with profiles may be a copy', async () => {
  const root = temporaryDirectory()
  const target = await openTarget(join(root, 'new'))
  writeFileSync(join(root, 'new', '__8988.json'), '')
  closeTarget(target)
  expect(identify(join(root, 'new'))).toBe('new')
  const copy = directoryOf(someProfiles(1))
  await openTarget(copy)
  expect(identify(copy)).toBe('none')
})

describe('creating the directory', () => {
  test.skipIf(!hasSymlinks)('a dangling link, as when nothing is mounted', async () => {
    const link = join(temporaryDirectory(), 'link')
    symlinkSync('nothing', link, 'dir')
    await expect(makeDirectory(link)).rejects.toThrow(`${link} is a broken link`)
    await expect(makeDirectory(join(link, 'new'))).rejects.toThrow(`${link} is a broken link`)
  })

  test('a drive that does not exist', async () => {
    loseDrive()
    const root = parse(resolve('/')).root
    await expect(makeDirectory(join(root, 'a', 'b'))).rejects.toThrow(`drive or share ${root} does not exist`)
    await expect(makeDirectory(root)).rejects.toThrow(`drive or share ${root} does not exist`)
  })

  test('a path whose root does not exist', async () => {
    loseDrive()
    await expect(makeDirectory(join('a', 'b'))).rejects.toMatchObject({ code: 'ENOENT' })
  })
})

test('however its path is spelled, all of it is in one place: where join leads', async () => {
  const root = temporaryDirectory()
  const target = await openTarget(`${root}/link/.././profiles`)
  expect(target).toMatchObject({ directory: join(root, 'profiles'), made: [target.directory] })
})

test('a directory that is there, on a file system that does not say so when it is to be made', async () => {
  const directory = temporaryDirectory()
  mkdirSync(join(directory, INCOMING))
  refuseDirectories('EACCES')
  await expect(openTarget(directory)).resolves.toMatchObject({ made: [] })
})
