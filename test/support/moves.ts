/** Directories between which `softsim move` moves profiles. */
import { cpSync, mkdirSync, readdirSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'
import { directoryOf, someProfiles, temporaryDirectory } from './directory.ts'
import { iccid } from './profiles.ts'
import { softsim } from './softsim.ts'

/** A directory with so many profiles, and the path of one that is not there yet. */
export const pair = (count = 5) =>
  [directoryOf(someProfiles(count)), join(temporaryDirectory(), 'profiles')] as const

export const move = (source: string, target: string, ...more: string[]) =>
  softsim(['move', '-i', source, '-o', target, ...more])
export const next = (directory: string, ...more: string[]) =>
  softsim(['next', '-k', inject('keys').privateKeyPath, '-i', directory, '--format=raw', ...more])
export const status = async (directory: string) =>
  JSON.parse((await softsim(['status', '-i', directory, '--format=json'])).stdout)

export const fileOf = (n: number) => `${iccid(n)}.json`
export const draftsIn = (source: string) =>
  readdirSync(join(source, '.moves')).filter((name) => !name.includes('.'))

/** A move that was killed: before it was decided whose the profiles are, or right after. Three others stay. */
export async function halfMoved(whose?: 'target', count = 2, target = pair()[1]) {
  const source = directoryOf(someProfiles(count + 3))
  await move(source, target, '-n', `${count}`)
  const id = readdirSync(join(target, '.moves'))[0]?.replace('.from', '') ?? ''
  const drafts = join(source, '.moves', id)
  mkdirSync(drafts)
  for (let n = 1; n <= count; n++) {
    cpSync(join(source, `__${fileOf(n)}`), join(drafts, `${fileOf(n)}~1`))
    cpSync(join(target, fileOf(n)), join(source, fileOf(n)))
    unlinkSync(join(target, fileOf(n)))
  }
  if (whose === undefined) unlinkSync(join(source, '.moves', `${id}.whose`))
  return { source, target }
}
