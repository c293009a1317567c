/**
 * A directory knows that it is itself. `.identity` has one file in it, whose name is the random id of the directory, and
 * which says its own inode number and time of birth. In a copy or a restored backup, that file has others.
 */
import { lstatSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { diskFailure, Failure, UnusableProfile } from '../failure.ts'
import type { Messages } from '../words.ts'
import {
  decide,
  drop,
  exists,
  flushDirectory,
  flushFile,
  namesIn,
  prepare,
  read,
  readText,
  remove,
  rename,
  write,
} from './files.ts'
import { look } from './listing.ts'
import { CLAIMS, DEVICES, fieldsOf, IDENTITY, newTag, parseUsed, pathIn, usedName } from './names.ts'

/** In nanoseconds. FAT and exFAT have such times, in local time, and their inode numbers last until they are unmounted. */
const COARSE = 10_000_000n

/** In nanoseconds: over SMB, a time of birth has fewer digits. */
const ROUNDED = 1_000_000n

/** In nanoseconds: ext4 gives the inode number of a removed file to the next one, such as its copy from a backup. */
const REUSED = 100_000_000n

/** How many used files are looked into, the last ones: on a share, all would take minutes. */
const MOST_LOOKED_AT = 100

/** `unused-copy`: nothing was used in it, so it can be used, if only one of the two is. `none`: it has no identity yet. */
type State = 'own' | 'copy' | 'unused-copy' | 'none'

interface Entry {
  readonly id: string
  /** The ids that the directory had before it was restored. */
  readonly before: readonly string[]
  readonly isCopied: boolean
}

const isId = (name: string) => /^[0-9a-f]{20}$/.test(name)

/** A file system that does not tell the time of birth says 0. */
const isTold = (birth: bigint) => birth % COARSE !== 0n

const numberIn = (value: unknown) => (typeof value === 'string' && /^\d+$/.test(value) ? BigInt(value) : 0n)

function entryOf(place: string, id: string): Entry | undefined {
  const path = pathIn(place, id)
  const status = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  const text = read(path)
  if (status === undefined || text === undefined) return undefined
  const { inode, birth, before } = fieldsOf(text)
  const [said, now] = [numberIn(birth), status.birthtimeNs]
  const distance = said < now ? now - said : said - now
  const isOther = numberIn(inode) !== status.ino ? distance > ROUNDED : distance > REUSED
  return {
    id,
    before: Array.isArray(before) ? before.map(String) : [],
    isCopied: isTold(said) && isTold(now) && isOther,
  }
}

const entriesIn = (directory: string): Entry[] => {
  const place = join(directory, IDENTITY)
  return namesIn(place)
    .filter(isId)
    .flatMap((id) => entryOf(place, id) ?? [])
}

/** While an identity is renewed, there is the old one, too: the one that is itself counts. */
function entryIn(directory: string): Entry | undefined {
  const entries = entriesIn(directory)
  return entries.find(({ isCopied }) => !isCopied) ?? entries[0]
}

/**
 * Who a directory is. Whoever concludes that something is gone reads this afterwards: what is not there proves nothing.
 * @throws {Failure} `disk` if it has no identity
 */
export function identityIn(directory: string): string {
  const entry = entryIn(directory)
  if (entry !== undefined) return entry.id
  const hint = 'check that its disk or its share is there, and run the same command again'
  throw new Failure('disk', `${directory} is gone, or has lost ${IDENTITY}`, hint)
}

/** All identities that a directory has or had. */
export const identitiesOf = (directory: string): string[] =>
  entriesIn(directory).flatMap(({ id, before }) => [id, ...before])

/** Makes an identity if there is none. It is durable then. */
export function identityOf(directory: string): string {
  const known = entryIn(directory)
  if (known !== undefined) return known.id
  const own = newTag()
  const draft = join(directory, CLAIMS, `~${own}`)
  prepare(draft, own, '')
  describe(join(draft, own), [])
  flushDirectory(draft)
  decide(draft, join(directory, IDENTITY), own, isId)
  if (exists(draft)) drop(draft, own)
  flushDirectory(directory)
  return identityIn(directory)
}

/** Writes into a new file who it is. */
function describe(path: string, before: readonly string[]): void {
  const { ino, birthtimeNs } = lstatSync(path, { bigint: true })
  writeFileSync(path, JSON.stringify({ inode: String(ino), birth: String(birthtimeNs), before }))
  flushFile(path)
}

/** Gives a directory an identity of its own; it keeps in mind those that it had. There is one at any time. */
export function renewIdentity(directory: string): void {
  const old = entriesIn(directory)
  if (old.length === 0) return void identityOf(directory)
  const place = join(directory, IDENTITY)
  const id = newTag()
  const draft = pathIn(place, `~${id}`)
  write(draft, '')
  describe(draft, [...new Set(old.flatMap((each) => [each.id, ...each.before]))])
  rename(draft, pathIn(place, id))
  flushDirectory(place)
  for (const each of old) remove(pathIn(place, each.id))
  flushDirectory(place)
}

/** Changes nothing. */
export function identityState(directory: string): State {
  const entry = entryIn(directory)
  if (entry === undefined) return hasLostRecords(directory) ? 'copy' : 'none'
  if (!entry.isCopied) return hasLostRecords(directory) ? 'copy' : 'own'
  const { used, held, aside } = look(directory)
  return used.length + held.length + aside.length > 0 ? 'copy' : 'unused-copy'
}

/**
 * Whether used files name devices, and there are no records: those devices would get other profiles. Another call may make
 * the first record meanwhile, but then its directory is there before the used file is.
 */
function hasLostRecords(directory: string): boolean {
  if (exists(join(directory, DEVICES))) return false
  const isForDevice = (name: string) => deviceIn(pathIn(directory, usedName(name))) !== undefined
  return (
    look(directory).used.slice(-MOST_LOOKED_AT).some(isForDevice) && !namesIn(directory).includes(DEVICES)
  )
}

function deviceIn(path: string): string | undefined {
  try {
    return parseUsed(readText(path))?.device
  } catch (error) {
    if (error instanceof UnusableProfile) return undefined
    throw error
  }
}

/**
 * Looks at a directory before profiles are claimed in it or come into it. One that has no identity gets one.
 * @param forDevices whether profiles are wanted for devices
 * @throws {Failure} `copy`, `no-profiles` if there is no such directory, `disk`
 */
export function enter(directory: string, messages: Pick<Messages, 'warn'>, forDevices: boolean): void {
  const entry = entryIn(directory)
  if (entry !== undefined && !entry.isCopied && !(forDevices && hasLostRecords(directory))) return
  const state = identityState(directory)
  if (state === 'copy') {
    const what =
      entry?.isCopied === true
        ? 'is a copy, or came back from a backup: devices may have profiles that are unused in it'
        : `has lost ${DEVICES}: devices that have a profile would get another one`
    const hint = `use the directory that it was copied from; if that is gone, softsim restore puts ${directory} back into use with the receipts of all stations`
    throw new Failure('copy', `${directory} ${what}`, hint)
  }
  try {
    if (state === 'none') identityOf(directory)
    if (state !== 'unused-copy') return
    renewIdentity(directory)
  } catch (error) {
    throw diskFailure(`can't write to ${directory}`, error)
  }
  messages.warn(
    `${directory} is a copy: do not use the directory that it was copied from; if it came from a backup, stop, and see softsim help restore`,
  )
}
