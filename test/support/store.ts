/** Profiles as a fetch brings them, and what stores them; nothing is encrypted. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { add, nothingAdded } from '../../src/store/incoming/add.ts'
import { newName } from '../../src/store/incoming/answers.ts'
import { reserve } from '../../src/store/incoming/free-space.ts'
import { finishFetches } from '../../src/store/incoming/recover.ts'
import { closeTarget, openTarget } from '../../src/store/incoming/target-directory.ts'
import type { StoredProfile } from '../../src/store/profile-file.ts'
import { temporaryDirectory } from './directory.ts'

export const profile = (n: number): StoredProfile => ({ iccid: `8988${n}`, profile: 'AAAA' })

/** From 0 on. */
export const several = (count: number) => Array.from({ length: count }, (_, n) => profile(n))

/** The files of a profile: unused, used by a device, and moved. */
export const STORED = JSON.stringify({ iccid: '8988', profile: 'AAAA' })
export const USED = STORED.replace('}', ',"device":"D","file":"8988.json","claim":"x"}')
export const MOVED = { move: '0'.repeat(36), to: '/other', moved: { ...JSON.parse(STORED), from: 'y' } }
export const TOMB = JSON.stringify(MOVED)

/** A new directory with these files. */
export function directoryWith(files: Record<string, string>): string {
  const directory = temporaryDirectory()
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true })
    writeFileSync(join(directory, name), text)
  }
  return directory
}

/** What a call leaves that was killed right after it had decided a name. */
export function leaveClaim(directory: string, key: string, text: string): void {
  mkdirSync(join(directory, '.claims', key), { recursive: true })
  writeFileSync(join(directory, '.claims', key, 'nonce'), text)
}

export const jsonIn = (directory: string, name: string) =>
  JSON.parse(readFileSync(join(directory, name), 'utf8'))

/** As a fetch does with an answer. */
export async function addTo(directory: string, profiles: readonly StoredProfile[]) {
  const target = await openTarget(directory)
  try {
    const added = nothingAdded()
    await add(target, await reserve(target, profiles.length), profiles, added)
    return { stored: added.stored, known: added.known }
  } finally {
    closeTarget(target)
  }
}

/** The name of an answer whose process is gone: its number is higher than any system gives. */
export const nameOfGone = (ending?: string) => newName(ending).replace(`~${process.pid}~`, '~4194999~')

/** That of a process of another machine. */
export const nameOfOther = (ending?: string) => newName(ending).replace(/^[^~]*/, 'another-machine')

/** As any call does first. */
export const recover = (directory: string, warn: (text: string) => unknown = () => {}) =>
  finishFetches(directory, { warn, tell() {} })
