import { join } from 'node:path'
import { reasonOf } from '../failure.ts'
import { useAt } from '../store/claim.ts'
import { claimsOf, openClaims } from '../store/decision.ts'
import { exists } from '../store/directory-entries.ts'
import { identify } from '../store/identity.ts'
import { countReceived } from '../store/incoming/answers.ts'
import { findUnanswered } from '../store/incoming/recover.ts'
import { readUnused, readUsed } from '../store/listing.ts'
import { countMoved } from '../store/move-journal.ts'
import { comingName, fileName, keyOfName, parseName, usedName } from '../store/names.ts'
import { tombstoneIn } from '../store/profile-file.ts'
import type { Messages } from '../words.ts'

export type Found = ReturnType<typeof countFiles>

export type Counts = Found['counts']

/**
 * Looks at the names in a directory, and, if any were moved out of it, at the used files.
 * @throws {Failure} `no-profiles` if there is no such directory, `disk` if it can't be read
 */
export function countFiles(directory: string, messages: Messages) {
  const { used, notProfiles, notProfileCount, twins, ...unused } = readUnused(directory)
  /** The other counts say enough to go on without one that can't be had. */
  const readable = <T>(what: string, read: (directory: string) => T, otherwise: T): T => {
    try {
      return read(directory)
    } catch (error) {
      messages.warn(`what ${what} ${directory} can't be read: ${reasonOf(error)}`)
      return otherwise
    }
  }
  const gone = readable('was moved out of', countMoved, { moved: [], inTransit: new Map(), unfinished: [] })
  const claims = readable('calls are claiming in', claimsIn, new Map())
  const inTransit = new Map(gone.inTransit)
  for (const [name, { to }] of claims) if (to !== undefined) inTransit.set(name, to)
  const claimed = [...claims.keys()]
  const keys = new Set(claimed.map(keyOfName))
  const iccids =
    keys.size === 0 ? unused.iccids : unused.iccids.filter((iccid) => !keys.has(keyOfName(fileName(iccid))))
  const unfinished = [...new Set([...claimed, ...twins])].filter((name) => !inTransit.has(name))
  const unanswered = findUnanswered(directory)
  /** How many files of each kind a directory has, by their names: in the order of `text`. */
  const counts = {
    unused: iccids.length,
    used: used + [...claims.values()].filter(({ hasUsed }) => !hasUsed).length,
    /** Of the used ones: those that a call is claiming, or was killed while it did. */
    unfinished: unfinished.length,
    /** Of the used ones: those that were moved to another directory. */
    moved: gone.moved.length,
    /** Of the used ones: those that an interrupted move has claimed. */
    inTransit: inTransit.size,
    /** Named like a profile, but not after an ICCID. */
    notProfiles: notProfileCount,
    /** Received by a `fetch` that has not stored them yet. */
    received: countReceived(directory),
    /** Requested by a `fetch` that was interrupted, and not received. */
    unanswered: unanswered?.profiles ?? 0,
  }
  return {
    counts,
    identity: identify(directory),
    /** Of the unused profiles, lowest first. */
    iccids,
    /** The files of claims that are not finished. */
    unfinished,
    /** The ICCIDs of those that were moved to another directory. */
    moved: gone.moved,
    inTransit,
    /** Where interrupted moves go. */
    goingTo: new Set([...gone.unfinished, ...inTransit.values()]),
    unanswered,
    /** The first files that are named like a profile, but not after an ICCID. */
    notProfiles,
  }
}

/**
 * Counts several directories together, and each profile once: what left one of them for another one counts there, and so
 * does what is marked used in several, as after `restore`.
 */
export function countAll(all: readonly (Found & { directory: string })[]): Counts {
  const counts = sum(all.map((each) => each.counts))
  if (all.length < 2) return counts
  // Of what is noted for one profile, the last counts.
  const states = new Map<string, 'moved' | 'inTransit' | 'used' | 'unused'>()
  for (const { moved } of all) for (const iccid of moved) states.set(iccid, 'moved')
  for (const { inTransit } of all)
    for (const iccid of digitsOf(inTransit.keys())) states.set(iccid, 'inTransit')
  for (const { directory, unfinished, moved, inTransit } of all) {
    const gone = new Set([...moved, ...digitsOf(inTransit.keys())])
    for (const iccid of digitsOf([...readUsed(directory), ...unfinished]))
      if (!gone.has(iccid)) states.set(iccid, 'used')
  }
  for (const { iccids } of all)
    for (const iccid of digitsOf(iccids.map(fileName))) states.set(iccid, 'unused')
  const { unused = [], moved = [], inTransit = [] } = Object.groupBy(states.values(), (state) => state)
  const numbers = { moved: moved.length, inTransit: inTransit.length, unused: unused.length }
  return { ...counts, ...numbers, used: states.size - unused.length }
}

const digitsOf = (names: Iterable<string>) => [...names].map((name) => parseName(name)?.digits ?? '')

/** Adds up numbers by their names. */
export function sum<K extends string>(all: readonly Readonly<Record<K, number>>[]): Record<K, number> {
  const [first, ...others] = all
  const total = { ...first } as Record<K, number>
  for (const each of others) for (const name of Object.keys(total) as K[]) total[name] += each[name]
  return total
}

interface Claim {
  /** Where it goes, if a move has it. */
  readonly to: string | undefined
  readonly hasUsed: boolean
}

/**
 * Profiles that are decided to be somebody's, and whose used files have not come yet, or are not complete. And those that
 * come back: who moves such a file gets it twice.
 */
function claimsIn(directory: string): Map<string, Claim> {
  const found = new Map<string, Claim>()
  for (const key of openClaims(directory)) {
    const coming = comingName(key)
    // An empty one is done: Windows lets nobody remove it while a scanner is in it.
    if (coming !== undefined && claimsOf(directory, key).length > 0)
      found.set(coming, { to: undefined, hasUsed: true })
    const use = useAt(directory, fileName(key))
    if (use.state !== 'claimed') continue
    const hasUsed = exists(join(directory, usedName(use.name)))
    found.set(use.name, { to: tombstoneIn(use.text)?.to, hasUsed })
  }
  return found
}
