/**
 * A directory knows that it is itself. `.identity` has one file in it: its name is the random id of the directory, and it
 * says its own inode number and time of birth. In a copy or a restored backup, that file has others.
 */
import { lstatSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../failure.ts'
import type { Messages } from '../words.ts'
import {
  decide,
  drop,
  exists,
  flushDirectory,
  flushFile,
  isOnFat,
  make,
  namesIn,
  patiently,
  prepare,
  read,
  remove,
  rename,
  write,
} from './files.ts'
import { look, looking } from './listing.ts'
import { CLAIMS, DEVICES, fieldsOf, IDENTITY, newTag, pathIn, usedName } from './names.ts'
import { readUsed } from './state.ts'

/** In nanoseconds: over SMB, a time of birth has fewer digits. */
const ROUNDED = 1_000_000n

/** In nanoseconds: ext4 gives the inode number of a removed file to the next one, such as its copy from a backup. */
const REUSED = 100_000_000n

/** In nanoseconds. Such are the times of FAT and exFAT, in local time; their inode numbers last until they are unmounted. */
const COARSE = 10_000_000n

/** How many used files are looked into, the last ones: on a share, all would take minutes. */
const MOST_LOOKED_AT = 100

interface Identity {
  readonly id: string
  /** Those of the directory before it was restored. */
  readonly before: readonly string[]
  readonly isCopied: boolean
}

const isId = (name: string) => /^[0-9a-f]{20}$/.test(name)

/** While an identity is renewed, there are two. */
const allIn = (directory: string): Identity[] =>
  namesIn(join(directory, IDENTITY))
    .filter(isId)
    .flatMap((id) => parse(directory, id) ?? [])

function parse(directory: string, id: string): Identity | undefined {
  const path = join(directory, IDENTITY, id)
  const now = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  if (now === undefined) return undefined
  const { inode, birth, before } = fieldsOf(read(path))
  const said = typeof birth === 'string' && /^\d+$/.test(birth) ? BigInt(birth) : 0n
  const distance = said < now.birthtimeNs ? now.birthtimeNs - said : said - now.birthtimeNs
  // A file system that does not tell the time of birth says 0. What was made on a stick says nothing, or a coarse time.
  const isKnown = birth !== '0' && now.birthtimeNs % COARSE !== 0n && !isOnFat(directory)
  const isCopied = isKnown && distance > (inode === String(now.ino) ? REUSED : ROUNDED)
  return { id, before: Array.isArray(before) ? before.map(String) : [], isCopied }
}

/** The one that is itself counts. */
function ownIn(directory: string): Identity | undefined {
  const all = allIn(directory)
  return all.find(({ isCopied }) => !isCopied) ?? all[0]
}

/**
 * Who a directory is. Whoever concludes that something is gone reads this afterwards: what is not there proves nothing.
 * @throws {Failure} `disk` if it has no identity
 */
export function identityIn(directory: string): string {
  const own = ownIn(directory)
  if (own !== undefined) return own.id
  const hint = 'check that its disk or its share is there, and run the same command again'
  throw new Failure('disk', `${directory} is gone, or has lost ${IDENTITY}`, hint)
}

/** The identity of a directory, and all before it. */
export const identitiesOf = (directory: string): string[] =>
  allIn(directory).flatMap(({ id, before }) => [id, ...before])

/** Makes an identity if there is none. It is durable then. */
export function identityOf(directory: string): string {
  const known = ownIn(directory)
  if (known !== undefined) return known.id
  const id = newTag()
  if (isOnFat(directory)) {
    // Nothing with contents is renamed there; it tells no time of birth that would be worth noting.
    write(pathIn(make(join(directory, IDENTITY)), id), '')
    flushDirectory(join(directory, IDENTITY))
    return identityIn(directory)
  }
  const draft = join(directory, CLAIMS, `~${id}`)
  prepare(draft, id, '')
  describe(pathIn(draft, id), [])
  flushDirectory(draft)
  decide(draft, join(directory, IDENTITY), id, isId)
  if (exists(draft)) drop(draft, id)
  flushDirectory(directory)
  return identityIn(directory)
}

/** Writes into a new file who it is. */
function describe(path: string, before: readonly string[]): void {
  const { ino, birthtimeNs } = lstatSync(path, { bigint: true })
  const text = JSON.stringify({ inode: String(ino), birth: String(birthtimeNs), before })
  patiently(() => writeFileSync(path, text))
  flushFile(path)
}

/** From now on, until `renewIdentity`, other calls take the directory for a copy. It is durable then. */
export function disown(directory: string): void {
  const place = join(directory, IDENTITY)
  // A stick tells no time of birth.
  for (const { id, before } of isOnFat(directory) ? [] : allIn(directory)) {
    const draft = pathIn(place, `~${newTag()}`)
    write(draft, JSON.stringify({ inode: '0', birth: '1', before }))
    flushFile(draft)
    rename(draft, pathIn(place, id))
  }
  if (exists(place)) flushDirectory(place)
}

/** Gives a directory an identity of its own, which knows those before it. There is one at any time. */
export function renewIdentity(directory: string): void {
  const before = new Set(identitiesOf(directory))
  if (before.size === 0) return void identityOf(directory)
  const place = join(directory, IDENTITY)
  const id = newTag()
  write(pathIn(place, `~${id}`), '')
  describe(pathIn(place, `~${id}`), [...before])
  rename(pathIn(place, `~${id}`), pathIn(place, id))
  flushDirectory(place)
  // What a killed renewal has left goes, too.
  for (const name of namesIn(place)) if (before.has(name) || name.startsWith('~')) remove(pathIn(place, name))
  flushDirectory(place)
}

/**
 * Who a directory is for those who look at it. It changes nothing.
 * @returns `none` if it has no identity yet; `unused-copy` if it is a copy, and nothing was used in it
 */
export function identityState(directory: string): 'own' | 'copy' | 'unused-copy' | 'none' {
  const own = ownIn(directory)
  if (own === undefined) return hasLost(directory, IDENTITY, 'claim') ? 'copy' : 'none'
  if (!own.isCopied) return hasLostRecords(directory) ? 'copy' : 'own'
  const { used, held, aside } = look(directory)
  return used.length + held.length + aside.length > 0 ? 'copy' : 'unused-copy'
}

/**
 * Whether used files say that a hidden directory was there: a copy without hidden files has lost it. Another call may make
 * it meanwhile, but then it is there before the used file is. Other tools write neither of these.
 */
function hasLost(directory: string, place: string, field: 'claim' | 'device'): boolean {
  if (exists(join(directory, place))) return false
  const isSign = (name: string) => {
    const used = readUsed(directory, usedName(name))
    return typeof used !== 'string' && used[field] !== undefined
  }
  return look(directory).used.slice(-MOST_LOOKED_AT).some(isSign) && !namesIn(directory).includes(place)
}

/** Devices that have a profile would get another one. */
const hasLostRecords = (directory: string) => hasLost(directory, DEVICES, 'device')

export function copyFailure(directory: string): Failure {
  const what =
    ownIn(directory)?.isCopied === false
      ? `has lost ${DEVICES}: devices that have a profile would get another one`
      : 'is a copy, or came back from a backup: devices may have profiles that are unused in it'
  const hint = `use the directory that it was copied from; if that is gone, softsim restore puts ${directory} back into use with the receipts of all stations`
  return new Failure('copy', `${directory} ${what}`, hint)
}

/**
 * Looks at a directory before profiles are claimed in it or come into it. One that has no identity gets one.
 * @param forDevices whether profiles are wanted for devices
 * @throws {Failure} `copy`, `no-profiles` if there is no such directory, `disk`
 */
export function enter(directory: string, messages: Pick<Messages, 'warn'>, forDevices: boolean): void {
  looking(directory, () => {
    const own = ownIn(directory)
    if (own?.isCopied === false && !(forDevices && hasLostRecords(directory))) return
    const state = identityState(directory)
    if (state === 'copy') throw copyFailure(directory)
    if (state === 'none') identityOf(directory)
    if (state !== 'unused-copy') return
    renewIdentity(directory)
    messages.warn(
      `${directory} is a copy: do not use the directory that it was copied from; if it came from a backup, stop, and see softsim help restore`,
    )
  })
}
