import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { claimAll } from '../../src/store/claim.ts'
import { append, beginMove, journalOf } from '../../src/store/moves.ts'
import { tombstoneText } from '../../src/store/tombstone.ts'
import { directoryOf, someProfiles } from './directory.ts'
import { iccid } from './profiles.ts'

/**
 * A move that was killed: before it was decided whose the profiles are, or right after. Three others stay.
 * @returns the directory that they leave
 */
export async function halfMoved(target: string, count = 2, fate?: 'given'): Promise<string> {
  const source = directoryOf(someProfiles(count + 3))
  mkdirSync(target, { recursive: true, mode: 0o700 })
  const names = Array.from({ length: count }, (_, n) => `${iccid(n + 1)}.json`)
  const move = beginMove(source, target)
  await append(move, journalOf(move), { to: target, count, names })
  const stored = (name: string) => readFileSync(join(source, name), 'utf8')
  await claimAll(
    source,
    names.map((name) => tombstoneText(move, target, { name, stored: stored(name) })),
  )
  if (fate !== undefined) await append(move, journalOf(move), { fate })
  return source
}
