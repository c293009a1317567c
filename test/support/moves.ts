/** Directories between which `softsim move` moves profiles. */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'
import { claimAll } from '../../src/store/claim.ts'
import { append, beginMove, journalOf, tombstoneText } from '../../src/store/moves.ts'
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
export const journalsIn = (source: string) =>
  readdirSync(join(source, '.moves')).filter((name) => !/[.~]/.test(name))

/** A move that was killed: before it was decided whose the profiles are, or right after. Three others stay. */
export async function halfMoved(fate?: 'given', count = 2, target = pair()[1]) {
  const source = directoryOf(someProfiles(count + 3))
  mkdirSync(target, { mode: 0o700 })
  const names = Array.from({ length: count }, (_, n) => fileOf(n + 1))
  const move = beginMove(source, target)
  await append(move, journalOf(move), { to: target, count, names })
  const stored = (name: string) => readFileSync(join(source, name), 'utf8')
  await claimAll(
    source,
    names.map((name) => tombstoneText(move, target, { name, stored: stored(name) })),
  )
  if (fate !== undefined) await append(move, journalOf(move), { fate })
  return { source, target }
}
