import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { isAbsolute, join, relative } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { adviceOn } from '../../src/advice/advice.ts'
import { Failure, UnusableProfile } from '../../src/failure.ts'
import { hasFillers, readProfile, readUnused, whyNone } from '../../src/store/read.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { hasSymlinks, modesCount } from '../support/system.ts'
import { fail } from '../support/watched-fs.ts'

vi.mock('node:fs', async () => (await import('../support/watched-fs.ts')).watchedFs)

describe('the file of a profile', () => {
  const KIB = 1024

  test.each([
    ['1.json', 64 * KIB],
    ['__1.json', 512 * KIB],
    ['record.1', 512 * KIB],
  ])('%s has at most %i bytes', (name, most) => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, name), 'x'.repeat(most))
    expect(readProfile(directory, name)).toHaveLength(most)
    writeFileSync(join(directory, name), 'x'.repeat(most + 1))
    expect(() => readProfile(directory, name)).toThrow(`it is too large for a profile (${most + 1} bytes)`)
  })

  test('a missing one is ignored, and an unreadable one is reported', () => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, '1.json'), 'stored')
    mkdirSync(join(directory, '2.json'))
    expect(readProfile(directory, '1.json')).toBe('stored')
    writeFileSync(join(directory, '1.json'), '\ufeffstored')
    expect(readProfile(directory, '1.json')).toBe('stored')
    expect(readProfile(directory, '3.json')).toBeUndefined()
    expect(() => readProfile(directory, '2.json')).toThrow(UnusableProfile)
  })

  test.skipIf(!hasSymlinks)('a link is none, wherever it leads', () => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'real.json'), '')
    for (const [name, to] of [
      ['1.json', 'real.json'],
      ['2.json', 'nowhere'],
    ] as const) {
      symlinkSync(to, join(directory, name))
      expect(() => readProfile(directory, name), name).toThrow(expect.objectContaining({ fault: 'damaged' }))
    }
    expect(readProfile(directory, '3.json')).toBeUndefined()
  })
})

describe('a directory that can’t be read', () => {
  function failureOf(directory: string): unknown {
    try {
      return readUnused(directory)
    } catch (error) {
      return error
    }
  }

  test.each([
    ['EACCES', /^give this user permission to read and search/],
    ['EIO', /^connect the share, or check the disk, then run the same command again$/],
    ['EMFILE', /^raise the limit of open files/],
  ])('%s', (code, hint) => {
    fail(/^opendir$/, '', code)
    expect(adviceOn(failureOf(temporaryDirectory()))).toMatchObject({
      outcome: 'disk',
      hint: expect.stringMatching(hint),
    })
  })

  test('a file in its place, or a file above it', () => {
    const file = join(temporaryDirectory(), 'file')
    writeFileSync(file, '')
    for (const path of [file, join(file, 'profiles')]) {
      expect(failureOf(path)).toBeInstanceOf(Failure)
      expect(failureOf(path)).toMatchObject({
        facts: { kind: 'no-directory', directory: path },
        message: `${path} is not a directory`,
      })
    }
  })

  test('none: a relative path is completed, and an odd end is named', () => {
    const missing = join(temporaryDirectory(), 'missing')
    const hintFor = (path: string) => adviceOn(failureOf(path)).hint
    expect(failureOf(missing)).toMatchObject({
      facts: { kind: 'no-directory', directory: missing },
      message: `directory ${missing} does not exist`,
    })
    expect(hintFor(missing)).toMatch(/^check -i and that the /)
    // On Windows, it may be on another drive.
    const path = relative('.', missing)
    if (!isAbsolute(path))
      expect(hintFor(path)).toContain(`check -i, which stands for ${missing}, and that the `)
    expect(hintFor(`${missing}\r`)).toBe(
      'check -i: the name ends in a carriage return: the script has Windows line ends',
    )
  })

  test('then the name of any profile in it may have a filler', () => {
    const directory = temporaryDirectory()
    expect(hasFillers(directory)).toBe(false)
    fail(/^opendir$/, '')
    expect(hasFillers(directory)).toBe(true)
  })
})

describe('a directory without profiles', () => {
  /** Twenty directories in one, of which the last has this file. */
  function twenty(name: string, last = 'lot-20'): string {
    const directory = temporaryDirectory()
    for (let n = 1; n < 20; n++) mkdirSync(join(directory, `lot-${n}`))
    mkdirSync(join(directory, last))
    writeFileSync(join(directory, last, name), '')
    return directory
  }

  test('those of a directory in it are meant', () => {
    const directory = twenty('1.json')
    expect(whyNone(directory, 0, false)).toEqual({ kind: 'no-profiles', below: join(directory, 'lot-20') })
  })

  test.each([
    ['is used', '__1.json', 'lot-20'],
    ['is no profile', 'x.json', 'lot-20'],
    ['is in a hidden directory', '1.json', '.lot-20'],
  ])('but not what %s', (_, name, last) => {
    expect(whyNone(twenty(name, last), 0, false)).toEqual({ kind: 'no-profiles', below: undefined })
  })

  test.skipIf(!modesCount)('nor what can’t be looked into', () => {
    const directory = twenty('1.json')
    chmodSync(join(directory, 'lot-20'), 0)
    expect(whyNone(directory, 0, false)).toEqual({ kind: 'no-profiles', below: undefined })
  })
})
