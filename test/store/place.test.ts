import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { INCOMING } from '../../src/store/incoming.ts'
import { openTarget } from '../../src/store/target.ts'
import { temporaryDirectory } from '../support/directory.ts'
import { bury, cutPower, format, live } from './disk.ts'

vi.mock('node:fs', async () => {
  const { diskSync } = await import('./disk.ts')
  return { ...diskSync, default: diskSync }
})

/** The disk has POSIX's rules and names. */
const isWindows = process.platform === 'win32'

test.skipIf(isWindows)('the place for answers outlives a power cut, whoever has made it', async () => {
  const root = join(temporaryDirectory(), 'disk')
  const directory = join(root, 'profiles')
  format(root)
  live()
  mkdirSync(directory)
  // By a fetch that was killed before it flushed the directory.
  mkdirSync(join(directory, INCOMING))
  await openTarget(directory)
  bury()
  cutPower(() => 0)
  expect(existsSync(join(directory, INCOMING))).toBe(true)
})
