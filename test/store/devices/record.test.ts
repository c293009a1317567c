import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { noteBegun } from '../../../src/store/devices/record.ts'
import { temporaryDirectory } from '../../support/directory.ts'
import { hasPosix } from '../../support/system.ts'

const missing = vi.hoisted(() => ({ times: 0 }))

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const writeFileSync: typeof fs.writeFileSync = (...args) => {
    if (missing.times-- > 0) throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' })
    fs.writeFileSync(...args)
  }
  return { ...fs, writeFileSync }
})

test.each([
  [0, true],
  [4, true],
  [5, false],
])('a note that is missing %i times, because other calls remove it: written %s', (times, isWritten) => {
  const directory = temporaryDirectory()
  const records = join(directory, '.devices')
  mkdirSync(records)
  missing.times = times
  const note = () => noteBegun(directory, 'D', '1.json')
  if (isWritten) note()
  else expect(note).toThrow('ENOENT')
  const names = readdirSync(records)
  expect(names.map((name) => readFileSync(join(records, name), 'utf8'))).toEqual(isWritten ? ['1.json'] : [])
})

test.skipIf(!hasPosix)('a note is for the users of the directory', () => {
  const directory = temporaryDirectory()
  chmodSync(directory, 0o770)
  process.umask(0)
  mkdirSync(join(directory, '.devices'))
  missing.times = 0
  noteBegun(directory, 'D', '1.json')
  const [name = ''] = readdirSync(join(directory, '.devices'))
  expect(statSync(join(directory, '.devices', name)).mode & 0o777).toBe(0o660)
})
