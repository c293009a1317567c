import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Failure } from '../../src/errors.ts'
import { claim, unclaim } from '../../src/store/claim.ts'
import { readProfile, readUnused, Unreadable } from '../../src/store/read.ts'
import { temporaryDirectory } from '../support/directory.ts'

/** A new directory with these files, each of which holds its own name. */
function directoryWith(...names: string[]): string {
  const directory = temporaryDirectory()
  for (const name of names) writeFileSync(join(directory, name), name)
  return directory
}

test('a claim renames the file', () => {
  const directory = directoryWith('1.json', '2.json')
  expect(claim(directory, '1.json')).toBe(true)
  expect(readdirSync(directory).sort()).toEqual(['2.json', '__1.json'])
})

test('a profile can be claimed once', () => {
  const directory = directoryWith('1.json')
  expect([claim(directory, '1.json'), claim(directory, '1.json')]).toEqual([true, false])
})

test('a claim overwrites no used profile', () => {
  const directory = directoryWith('1.json', '__1.json')
  expect(claim(directory, '1.json')).toBe(false)
  expect(readFileSync(join(directory, '__1.json'), 'utf8')).toBe('__1.json')
  expect(existsSync(join(directory, '1.json'))).toBe(true)
})

test('a claim that came to nothing is taken back', () => {
  const directory = directoryWith('1.json')
  claim(directory, '1.json')
  unclaim(directory, '1.json')
  expect(readdirSync(directory)).toEqual(['1.json'])
})

test('a profile that is gone is none, one that can’t be read is told', () => {
  const directory = directoryWith('1.json')
  mkdirSync(join(directory, '2.json'))
  expect(readProfile(directory, '1.json')).toBe('1.json')
  expect(readProfile(directory, '3.json')).toBeUndefined()
  expect(() => readProfile(directory, '2.json')).toThrow(Unreadable)
})

test('a directory that is missing, or none', () => {
  const directory = directoryWith('file')
  for (const path of ['missing', 'file']) {
    expect(() => readUnused(join(directory, path))).toThrow(Failure)
    expect(() => readUnused(join(directory, path))).toThrow(
      expect.objectContaining({ outcome: 'no-profiles' }),
    )
  }
})
