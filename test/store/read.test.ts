import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { UnusableProfile } from '../../src/failure.ts'
import { namesIn, readIfThere } from '../../src/store/directory-entries.ts'
import { hasFillers, readUnused, whyNone } from '../../src/store/listing.ts'
import { readProfile } from '../../src/store/profile-file.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { modesCount } from '../support/system.ts'
import { fail, once, systemError } from '../support/watched-fs.ts'

vi.mock('node:fs', async () => (await import('../support/watched-fs.ts')).watchedFs)

describe('the file of a profile', () => {
  const KIB = 1024

  const MOST = { '1.json': 64 * KIB, '__1.json': 512 * KIB, 'record.1': 512 * KIB }
  test.each(Object.entries(MOST))('%s has at most %i bytes', (name, most) => {
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
})

test('what another client of NFS has just replaced or removed is looked at again', () => {
  const directory = temporaryDirectory()
  writeFileSync(join(directory, '1.json'), 'stored')
  const stale = (call: string) =>
    once('before', call, '', () => {
      throw systemError('ESTALE')
    })
  stale('readFile')
  expect(readProfile(directory, '1.json')).toBe('stored')
  stale('readFile')
  expect(readIfThere(join(directory, '1.json'))).toBe('stored')
  stale('readdir')
  expect(namesIn(directory)).toEqual(['1.json'])
})

test('a file in the place of a directory, or above it', () => {
  const file = join(temporaryDirectory(), 'file')
  writeFileSync(file, '')
  for (const path of [file, join(file, 'profiles')]) {
    const facts = { kind: 'not-a-directory' }
    const failure = expect.objectContaining({ facts, message: `${path} is not a directory` })
    expect(() => readUnused(path)).toThrow(failure)
  }
})

test('the name of any profile may have a filler in a directory that can’t be read', () => {
  const directory = temporaryDirectory()
  expect(hasFillers(directory)).toBe(false)
  fail(/^opendir$/, '')
  expect(hasFillers(directory)).toBe(true)
})

describe('a directory without profiles: another one in it is meant', () => {
  /** Twenty directories in one, of which the last has this file. */
  function twenty(name: string, last = 'lot-20'): string {
    const directory = temporaryDirectory()
    for (let n = 1; n < 20; n++) mkdirSync(join(directory, `lot-${n}`))
    mkdirSync(join(directory, last))
    writeFileSync(join(directory, last, name), '')
    return directory
  }

  test.each([
    ['is used', '__1.json', 'lot-20'],
    ['is no profile', 'x.json', 'lot-20'],
    ['is in a hidden directory', '1.json', '.lot-20'],
  ])('not one whose file %s', (_, name, last) => {
    expect(whyNone(twenty(name, last), 0, false)).toEqual({ kind: 'no-profiles', below: undefined })
  })

  test.skipIf(!modesCount)('not one that can’t be looked into', () => {
    const directory = twenty('1.json')
    chmodSync(join(directory, 'lot-20'), 0)
    expect(whyNone(directory, 0, false)).toEqual({ kind: 'no-profiles', below: undefined })
  })
})
