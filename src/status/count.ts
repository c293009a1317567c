import { join } from 'node:path'
import { reasonOf } from '../failure.ts'
import { comingName, keyOfName } from '../store/claim-place.ts'
import { openClaims } from '../store/create.ts'
import { exists } from '../store/directory-entries.ts'
import { type Identity, identify } from '../store/identity.ts'
import { countReceived } from '../store/incoming/answers.ts'
import { findUnanswered, type Unanswered } from '../store/incoming/recover.ts'
import { countMoved, type Moved } from '../store/moves.ts'
import { fileName, parseName, usedName } from '../store/names.ts'
import { useAt } from '../store/profile-state.ts'
import { readUnused } from '../store/read.ts'
import { tombstoneIn } from '../store/used-file.ts'
import type { Messages } from '../words.ts'
import { lookAt } from './unfinished.ts'

/** How many files of each kind a directory has, by their names. */
export interface Counts {
  readonly unused: number
  readonly used: number
  /** Of the used ones: those that a call is claiming, or was killed while it did. */
  readonly unfinished: number
  /** Of the used ones: those that were moved to another directory. */
  readonly moved: number
  /** Of the used ones: those that an interrupted move has claimed. */
  readonly inTransit: number
  /** Named like a profile, but not after an ICCID. */
  readonly notProfiles: number
  /** Received by a `fetch` or a `move` that has not stored them yet. */
  readonly received: number
  /** Requested by a `fetch` that was interrupted, and not received. */
  readonly unanswered: number
}

export interface Found {
  readonly counts: Counts
  readonly identity: Identity
  /** Of the unused profiles, lowest first. */
  readonly iccids: readonly string[]
  /** The files of claims that are not finished. */
  readonly unfinished: readonly string[]
  readonly inTransit: Moved['inTransit']
  /** The ICCIDs of those that were moved to another directory. */
  readonly moved: Moved['moved']
  readonly unanswered: Unanswered | undefined
  /** The first files that are named like a profile, but not after an ICCID. */
  readonly notProfiles: readonly string[]
}

/**
 * Looks at the names in a directory, and, if any were moved out of it, at the used files.
 * @throws {Failure} `no-profiles` if there is no such directory, `disk` if it can't be read
 */
export function countFiles(directory: string, messages: Messages): Found {
  const { used, notProfiles, notProfileCount, twins, ...unused } = readUnused(directory)
  const { moved, inTransit } = readable(`what was moved out of ${directory}`, messages, () =>
    countMoved(directory),
  ) ?? { moved: [], inTransit: new Map<string, string>() }
  const claimed =
    readable(`what calls are claiming in ${directory}`, messages, () => claimsIn(directory)) ??
    new Map<string, Claimed>()
  const going = new Map(
    [...claimed].flatMap(([name, { to }]) => (to === undefined ? [] : [[name, to] as const])),
  )
  const keys = new Set([...claimed.keys()].map(keyOfName))
  const iccids =
    keys.size === 0 ? unused.iccids : unused.iccids.filter((iccid) => !keys.has(keyOfName(fileName(iccid))))
  const isPlain = (name: string) => !inTransit.has(name) && !going.has(name)
  const unfinished = [...new Set([...claimed.keys(), ...twins])].filter(isPlain)
  const unanswered = findUnanswered(directory)
  const counts = {
    unused: iccids.length,
    used: used + [...claimed.values()].filter(({ hasUsed }) => !hasUsed).length,
    unfinished: unfinished.length,
    moved: moved.length,
    inTransit: inTransit.size + going.size,
    notProfiles: notProfileCount,
    received: countReceived(directory),
    unanswered: unanswered?.profiles ?? 0,
  }
  return {
    counts,
    identity: identify(directory),
    iccids,
    unfinished,
    inTransit: new Map([...inTransit, ...going]),
    moved,
    unanswered,
    notProfiles,
  }
}

/**
 * Counts several directories together, and each profile once: what left one of them for another one counts there, and what
 * left all of them where it was first.
 */
export function countAll(all: readonly (Found & { directory: string })[], messages: Messages): Counts {
  const counts = sum(all.map((each) => each.counts))
  if (all.length < 2) return counts
  const hops = { moved: 0, inTransit: 0 }
  const seen = new Set<string>()
  readable('who has what was moved', messages, () => {
    for (const { directory, moved, inTransit } of all) {
      const others = all.filter((each) => each.directory !== directory)
      const going = [...inTransit.keys()].map((name) => parseName(name)?.digits ?? '')
      for (const [kind, iccids] of [
        ['moved', moved],
        ['inTransit', going],
      ] as const) {
        for (const iccid of iccids) {
          if (seen.has(iccid) || others.some((each) => hasProfile(each.directory, iccid))) hops[kind]++
          seen.add(iccid)
        }
      }
    }
  })
  const { moved, inTransit } = hops
  return {
    ...counts,
    used: counts.used - moved - inTransit,
    moved: counts.moved - moved,
    inTransit: counts.inTransit - inTransit,
  }
}

/** Also if it is used. */
function hasProfile(directory: string, iccid: string): boolean {
  const use = lookAt(directory, iccid)
  if (use === undefined || use.state === 'unused') return true
  return use.state !== 'gone' && tombstoneIn(use.text) === undefined
}

/** Adds up numbers by their names. */
export function sum<K extends string>(all: readonly Readonly<Record<K, number>>[]): Record<K, number> {
  const [first, ...others] = all
  const total = { ...first } as Record<K, number>
  for (const each of others) for (const name of Object.keys(total) as K[]) total[name] += each[name]
  return total
}

/** The other counts say enough to go on. */
function readable<T>(what: string, messages: Messages, read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    messages.warn(`${what} can't be read: ${reasonOf(error)}`)
    return undefined
  }
}

interface Claimed {
  /** Where it goes, if a move has it. */
  readonly to: string | undefined
  readonly hasUsed: boolean
}

/**
 * Profiles that are decided to be somebody's, and whose used files have not come yet, or are not complete. And those that
 * come back: who moves such a file gets it twice.
 */
function claimsIn(directory: string): Map<string, Claimed> {
  const found = new Map<string, Claimed>()
  for (const key of openClaims(directory)) {
    const coming = comingName(key)
    if (coming !== undefined) found.set(coming, { to: undefined, hasUsed: true })
    const use = useAt(directory, fileName(key))
    if (use.state !== 'claimed') continue
    const hasUsed = exists(join(directory, usedName(use.name)))
    found.set(use.name, { to: tombstoneIn(use.text)?.to, hasUsed })
  }
  return found
}
