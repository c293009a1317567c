import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { UnusableProfile } from '../../src/failure.ts'
import { namesIn, readIfThere } from '../../src/store/directory-entries.ts'
import { deviceIn, readProfile, refuseAssigned, tombstoneIn } from '../../src/store/profile-file.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { MOVED, STORED, TOMB, USED } from '../support/store.ts'
import { once, systemError } from '../support/watched-fs.ts'

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

test('whom a file names: a device or a move, and only then nobody else may get it', () => {
  expect(deviceIn(USED)).toBe('D')
  for (const text of [STORED, TOMB, '', '[]', '{"device":1}']) expect(deviceIn(text)).toBeUndefined()
  expect(tombstoneIn(TOMB)).toEqual({ move: MOVED.move, to: MOVED.to, profile: MOVED.moved })
  const broken = [{ move: '../x' }, { to: 1 }, { moved: { iccid: '8988' } }, { moved: null }]
  for (const each of broken) expect(tombstoneIn(JSON.stringify({ ...MOVED, ...each }))).toBeUndefined()
  expect(() => refuseAssigned(USED)).toThrow('device D has it')
  expect(() => refuseAssigned(STORED)).not.toThrow()
})
