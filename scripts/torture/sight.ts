/** A profile directory seen with eyes of its own: nothing here is taken from the program. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { profilesIn } from './schedule/names.ts'

/** A ciphertext of a 4096-bit key in base64. */
const CIPHERTEXT = /^[A-Za-z0-9+/]{683}=$/

/** A killed process keeps its number until its parent, or whoever adopts it, takes notice. */
const OWNER_TRIES = 100
const OWNER_PAUSE_MS = 20

/** An answer that was put aside. */
export interface Aside {
  readonly name: string
  readonly iccids: string[]
}

export interface Sight {
  readonly unused: Set<string>
  readonly used: Set<string>
  /** Used files that name a device. Until that device is named again, a killed call may have left the unused file beside. */
  readonly owned: Set<string>
  /** Used files that say that their profiles went to another directory, or are about to. */
  readonly moved: Set<string>
  /** Files that have a profile's name and do not hold it. */
  readonly torn: string[]
  readonly asides: Aside[]
}

/** What is decided and not in its place yet: the texts of files, by their names. */
function claimsIn(directory: string): Map<string, string> {
  const claims = join(directory, '.claims')
  const keys = namesIn(claims).filter((key) => /^[\d.]+$/.test(key))
  return new Map(
    keys.flatMap((key) =>
      namesIn(join(claims, key)).map((nonce) => {
        const text = readOf(join(claims, key, nonce))
        return [`${text.includes('"file":') ? '__' : ''}${key}.json`, text] as const
      }),
    ),
  )
}

/** What there is in a directory; nothing where there is no directory. */
export function look(directory: string): Sight {
  const sight: Sight = {
    ...{ unused: new Set(), used: new Set(), owned: new Set(), moved: new Set() },
    ...{ torn: [], asides: [] },
  }
  const claims = claimsIn(directory)
  const names = [...new Set([...namesIn(directory), ...claims.keys()])]
  for (const { iccid, unused, used } of profilesIn(names).values()) {
    for (const name of [unused, used]) {
      if (name === undefined || claims.has(`__${name}`)) continue
      const text = readOf(join(directory, name)) || (claims.get(name) ?? '')
      if (name === unused) sight.unused.add(iccid)
      else if (text.includes('"moved":')) sight.moved.add(iccid)
      else sight.used.add(iccid)
      if (name === used && text.includes('"device":"')) sight.owned.add(iccid)
      if (iccidIn(text) !== iccid && !sight.moved.has(iccid)) sight.torn.push(name)
    }
  }
  const incoming = join(directory, '.incoming')
  for (const name of namesIn(incoming)) {
    if (!name.endsWith('.answer')) continue
    // Of version 1.1, a file.
    const text = readOf(join(incoming, name, 'answer')) || readOf(join(incoming, name))
    // What is left of the room that was kept for it may follow.
    const answer = text.replace(/\n\n[^\n]*$/, '\n')
    const iccids = answer.split('\n').slice(0, -1).map(iccidIn)
    sight.asides.push({ name, iccids: iccids.filter((iccid) => iccid !== undefined) })
  }
  return sight
}

function iccidIn(text: string): string | undefined {
  try {
    const { iccid, profile } = JSON.parse(text)
    return typeof profile === 'string' && CIPHERTEXT.test(profile) ? iccid : undefined
  } catch {
    return undefined
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

/** It may be gone, or have another name, by the time it is read. */
function readOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Waits, not for long, until nobody has the numbers any more of the processes that have put something aside. */
export async function ownersGone(directory: string): Promise<void> {
  for (let tries = OWNER_TRIES; tries > 0 && look(directory).asides.some(isOwnerAlive); tries--) {
    await sleep(OWNER_PAUSE_MS)
  }
}

/** Whether the process that an answer is named for seems to run: another one may have been given its number. */
export function isOwnerAlive({ name }: Aside): boolean {
  try {
    process.kill(Number(name.split('~')[1]), 0)
    return true
  } catch {
    return false
  }
}
