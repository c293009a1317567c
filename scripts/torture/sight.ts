/** A profile directory seen with eyes of its own: nothing here is taken from the program. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { profilesIn } from './schedule/names.ts'

/** A ciphertext of a 4096-bit key in base64. */
const CIPHERTEXT = /^[A-Za-z0-9+/]{683}=$/

export interface Sight {
  readonly unused: Set<string>
  readonly used: Set<string>
  /** Used files that name a device. Until that device is named again, a killed call may have left the unused file beside. */
  readonly owned: Set<string>
  /** Used files that say that their profiles went to another directory, or are about to. */
  readonly moved: Set<string>
  /** Files that have a profile's name and do not hold it. */
  readonly torn: string[]
  /** Answers that were put aside, and what is in them. */
  readonly answers: string[]
  readonly aside: Set<string>
  /** Of these, what is being published: its answer is flushed by then. */
  readonly safe: Set<string>
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
    ...{ torn: [], answers: [], aside: new Set(), safe: new Set() },
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
    sight.answers.push(name)
    // Beside the answer, its profiles are being written.
    const isSafe = namesIn(join(incoming, name)).length > 1
    for (const line of answer.split('\n').slice(0, -1)) {
      const iccid = iccidIn(line)
      if (iccid === undefined) continue
      for (const which of isSafe ? [sight.aside, sight.safe] : [sight.aside]) which.add(iccid)
    }
  }
  return sight
}

const namesIn = (directory: string) => attempt(() => readdirSync(directory), [])
const readOf = (path: string) => attempt(() => readFileSync(path, 'utf8'), '')

function iccidIn(text: string): string | undefined {
  const { iccid, profile } = attempt(() => Object(JSON.parse(text)), {})
  return typeof profile === 'string' && CIPHERTEXT.test(profile) ? iccid : undefined
}

/** It may be gone, or have another name, by the time it is read. */
function attempt<T>(read: () => T, otherwise: T): T {
  try {
    return read()
  } catch {
    return otherwise
  }
}
