import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Failure, UnusableProfile } from '../../src/failure.ts'
import { readProfile, readUnused } from '../../src/store/read.ts'
import { temporaryDirectory } from '../support/directory.ts'

test('a missing profile is ignored, and an unreadable one is reported', () => {
  const directory = temporaryDirectory()
  writeFileSync(join(directory, '1.json'), 'stored')
  mkdirSync(join(directory, '2.json'))
  expect(readProfile(directory, '1.json')).toBe('stored')
  expect(readProfile(directory, '3.json')).toBeUndefined()
  expect(() => readProfile(directory, '2.json')).toThrow(UnusableProfile)
})

test('a directory that is missing or is not a directory', () => {
  const directory = temporaryDirectory()
  writeFileSync(join(directory, 'file'), '')
  for (const path of ['missing', 'file']) {
    expect(() => readUnused(join(directory, path))).toThrow(Failure)
    expect(() => readUnused(join(directory, path))).toThrow(
      expect.objectContaining({ facts: { kind: 'no-directory', directory: join(directory, path) } }),
    )
  }
})
