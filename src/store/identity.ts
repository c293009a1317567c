/**
 * A directory knows that it is itself. `.identity` has one file in it: its name is the random id of the directory, and it
 * says its own time of birth. In a copy or a restored backup, that file has another one.
 */
import { lstatSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure, ifPossible } from '../failure.ts'
import type { Messages } from '../words.ts'
import * as files from './files.ts'
import { look } from './listing.ts'
import { CLAIMS, DEVICES, fieldsOf, IDENTITY, newTag, OUTGOING, pathIn, usedName } from './names.ts'
import { readUsed } from './state.ts'

/** In nanoseconds: the step of the times of FAT and exFAT. */
const COARSE = 10_000_000n

/** In nanoseconds: over SMB, times have fewer digits. No copy is made so soon. */
const NEAR = 10_000

interface Identity {
  readonly id: string
  /** Those of the directory before it was restored. */
  readonly before: readonly string[]
  readonly isCopied: boolean
}

const isId = (name: string) => /^[0-9a-f]{20}$/.test(name)
const birthOf = (path: string) => lstatSync(path, { bigint: true, throwIfNoEntry: false })?.birthtimeNs

/** While an identity is renewed, there are two. */
const allIn = (directory: string): Identity[] =>
  files
    .namesIn(join(directory, IDENTITY))
    .filter(isId)
    .flatMap((id) => {
      const path = join(directory, IDENTITY, id)
      const [now, text] = [birthOf(path), files.read(path)]
      if (now === undefined || text === undefined) return []
      const { birth, before } = fieldsOf(text)
      // 0 is none. FAT tells local time, which is another one in summer; exFAT rounds it when the file is on the disk.
      const isTold = birth !== '0' && now % COARSE !== 0n && !files.isOnFat(directory)
      const isNear = Math.abs(Number(now) - Number(birth)) <= NEAR
      return { id, before: Array.isArray(before) ? before.map(String) : [], isCopied: isTold && !isNear }
    })

/** A backup that was unpacked over a directory has brought one that is copied. */
function ownIn(directory: string): Identity | undefined {
  const all = allIn(directory)
  return all.find(({ isCopied }) => isCopied) ?? all[0]
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
  const place = join(directory, IDENTITY)
  if (files.isOnFat(directory)) {
    files.write(pathIn(files.make(place), id), '')
    files.flushDirectory(place)
    return identityIn(directory)
  }
  const draft = files.make(join(files.make(join(directory, CLAIMS)), `~${id}`))
  put(draft, id, [])
  files.decide(draft, place, id, isId)
  if (files.exists(draft)) files.drop(draft, id)
  files.flushDirectory(directory)
  return identityIn(directory)
}

/**
 * Puts a file into `.identity` that says who it is, or replaces one there. It is durable then.
 * @param born the time of birth that it says, its own if none is given
 */
function put(place: string, id: string, before: readonly string[], born?: string): void {
  const draft = pathIn(place, `~${newTag()}`)
  files.write(draft, '')
  const birth = born ?? String(birthOf(draft))
  files.patiently(() => writeFileSync(draft, JSON.stringify({ birth, before })))
  files.flushFile(draft)
  // A Samba that stores no time of birth tells the oldest of a file's times after a remount.
  if (Number(birth) > 1) ifPossible(() => utimesSync(draft, Number(birth) / 1e9, Number(birth) / 1e9))
  files.rename(draft, pathIn(place, id))
  files.flushDirectory(place)
}

/** From now on, until `renewIdentity`, others take the directory for a copy; not on a stick, which tells no birth. Durable then. */
export function disown(directory: string): void {
  if (files.isOnFat(directory)) return
  for (const { id, before } of allIn(directory)) put(join(directory, IDENTITY), id, before, '1')
}

/** Gives a directory an identity of its own, which knows those before it. There is one at any time. */
export function renewIdentity(directory: string): void {
  const before = [...new Set(identitiesOf(directory))]
  if (before.length === 0) return void identityOf(directory)
  const place = join(directory, IDENTITY)
  put(place, newTag(), before)
  // What a killed renewal has left goes, too.
  for (const name of files.namesIn(place))
    if (before.includes(name) || name.startsWith('~')) files.remove(pathIn(place, name))
  files.flushDirectory(place)
}

/**
 * Who a directory is for those who look at it. It changes nothing.
 * @param forDevices whether a directory that has lost the records of devices counts as a copy
 * @returns `none` if it has no identity yet; `unused-copy` if it is a copy, and nothing was used in it
 */
export function identityState(directory: string, forDevices = true): 'own' | 'copy' | 'unused-copy' | 'none' {
  const own = ownIn(directory)
  if (own === undefined) return hasLost(directory, IDENTITY, 'claim') ? 'copy' : 'none'
  if (!own.isCopied) return forDevices && hasLost(directory, DEVICES, 'device') ? 'copy' : 'own'
  const { used, held, aside } = look(directory)
  const traces = [...used, ...held, ...aside, ...files.namesIn(join(directory, DEVICES))]
  return traces.length > 0 || files.exists(join(directory, OUTGOING)) ? 'copy' : 'unused-copy'
}

/**
 * Whether used files say that a hidden directory was there: a copy without hidden files has lost it. Another call makes it
 * before a used file. Only the first and the last files are looked into: on a share, all would take minutes.
 */
function hasLost(directory: string, place: string, field: 'claim' | 'device'): boolean {
  if (files.exists(join(directory, place))) return false
  const { used } = look(directory)
  const signs = [...used.slice(0, 50), ...used.slice(-50)].map((name) => readUsed(directory, usedName(name)))
  const isSign = signs.some((each) => typeof each !== 'string' && each[field] !== undefined)
  return isSign && !files.namesIn(directory).includes(place)
}

export function copyFailure(directory: string): Failure {
  const what = hasLost(directory, DEVICES, 'device')
    ? `has lost ${DEVICES}: devices that have a profile would get another one`
    : 'is a copy, or came back from a backup: devices may have profiles that are unused in it'
  const hint = `use the directory that it was copied from; if that is gone, softsim restore puts ${directory} back into use with the receipts of all stations`
  return new Failure('copy', `${directory} ${what}`, hint)
}

/**
 * Looks at a directory before profiles are claimed in it or come into it. One that has no identity gets one.
 * @param forDevices whether profiles are wanted for devices
 * @throws {Failure} `copy`, `no-profiles` if there is no such directory, `disk` if it has no identity
 */
export function enter(directory: string, messages: Pick<Messages, 'warn'>, forDevices: boolean): void {
  const state = identityState(directory, forDevices)
  if (state === 'copy') throw copyFailure(directory)
  if (state === 'none') identityOf(directory)
  if (state !== 'unused-copy') return
  renewIdentity(directory)
  messages.warn(
    `${directory} is a copy: do not use the directory that it was copied from; if it came from a backup, stop, and see softsim help restore`,
  )
}
