/**
 * The file of a profile: how it is read, and what its text says, such as who claimed the profile and when, for which
 * device, or for which move.
 */
import { randomUUID } from 'node:crypto'
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { errnoOf, type Fault, reasonOf, UnusableProfile } from '../failure.ts'
import { iccidDigits } from '../profile/iccid.ts'
import { attempt, isHeld, patiently } from './patience.ts'

/** The fields of a JSON object; none if the text is no such object. */
export function fieldsOf(text: string): Record<string, unknown> {
  const value: unknown = attempt(() => JSON.parse(text))
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/** A field; empty if it is no text. */
export const stringOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** What used files, receipts and journals call this station. Several on one machine can have names of their own. */
export const stationName = (): string => process.env['SOFTSIM_STATION'] || hostname()

/** The move by which a profile came to its directory. */
export function arrivedBy(text: string): string | undefined {
  const { from } = tombstoneIn(text)?.profile ?? fieldsOf(text)
  return typeof from === 'string' ? from : undefined
}

/** Who claimed a profile, and when (RFC 3339). */
export interface By {
  readonly station: string
  readonly time: string
  /** For how many profiles at once: that call gives them back if it comes short. */
  readonly panel?: number
}

/** This station, now. */
export const byUs = (): By => ({ station: stationName(), time: new Date().toISOString() })

/** The device that a used file or a record names. */
export function deviceIn(text: string): string | undefined {
  const { device } = fieldsOf(text)
  return typeof device === 'string' ? device : undefined
}

/**
 * Somebody may have renamed a used file back by hand. It is still the device's.
 * @param text of an unused file
 * @throws {UnusableProfile} `damaged` if it names a device
 */
export function refuseAssigned(text: string): void {
  const device = deviceIn(text)
  if (device === undefined) return
  throw new UnusableProfile('damaged', `device ${device} has it, and only that device can get it again`)
}

/** What the used file of a profile says that a move has claimed. */
export interface Tombstone {
  /** Which move it is. */
  readonly move: string
  /** The path of the other directory. */
  readonly to: string
  /** As it was stored. */
  readonly profile: { readonly iccid: string; readonly profile: string; readonly from?: string }
}

/** The text of the used file of a profile that a move claims. */
export const tombstoneText = (
  { id }: { readonly id: string },
  to: string,
  { name, stored }: { readonly name: string; readonly stored: string },
  by = byUs(),
) =>
  JSON.stringify({
    move: id,
    to,
    ...by,
    file: name,
    claim: randomUUID(),
    moved: fieldsOf(stored),
  })

/** It becomes a file name, so it is checked. */
const MOVE = /^[0-9a-f-]{36}$/

/** The tombstone that a file is. Its fields are not those of a profile, so that version 1.1 calls it damaged. */
export function tombstoneIn(text: string): Tombstone | undefined {
  const { move, to, moved } = fieldsOf(text)
  if (typeof move !== 'string' || !MOVE.test(move) || typeof to !== 'string') return undefined
  const { iccid, profile, from } = (moved ?? {}) as Record<string, unknown>
  if (typeof iccid !== 'string' || typeof profile !== 'string') return undefined
  return { move, to, profile: { iccid, profile, ...(typeof from === 'string' ? { from } : {}) } }
}

/** In bytes. Far more than a 16384-bit key and some unknown fields need. */
const LARGEST_PROFILE = 64 * 1024

/** The same with its device. Such a file is parsed and written again, which can make a number four times as long. */
const LARGEST_RECORD = 8 * LARGEST_PROFILE

/** Does not follow a link out of the directory, nor wait for a pipe with the name of a profile. */
export const READ_SAFELY = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** Errors that say what a file is. All others say that it can't be read now. */
const NO_FILE = ['EISDIR', 'ELOOP', 'ENOENT', 'ENXIO']

/**
 * @param most in bytes
 * @returns undefined if it does not exist: another process may have claimed it in the meantime
 * @throws {UnusableProfile}
 */
export function readProfile(directory: string, name: string, most?: number): string | undefined {
  const path = join(directory, name)
  try {
    return patiently(() => readRegular(path, most ?? (isUnused(name) ? LARGEST_PROFILE : LARGEST_RECORD)))
  } catch (error) {
    if (error instanceof UnusableProfile) throw error
    if (errnoOf(error) === 'ENOENT' && !attempt(() => lstatSync(path).isSymbolicLink())) return undefined
    throw new UnusableProfile(faultOf(error), `it can't be read: ${reasonOf(error)}`, { cause: error })
  }
}

function readRegular(path: string, most: number): string {
  const file = openSync(path, READ_SAFELY)
  try {
    const status = fstatSync(file)
    if (!status.isFile()) throw new UnusableProfile('damaged', 'it is not a regular file')
    if (status.size > most)
      throw new UnusableProfile('damaged', `it is too large for a profile (${status.size} bytes)`)
    // Some editors begin a file with a byte order mark.
    return readFileSync(file, 'utf8').replace(/^\ufeff/, '')
  } finally {
    closeSync(file)
  }
}

/**
 * The text of a file; empty if there is none, or if it is no profile.
 * @throws the system error
 */
export function textOf(directory: string, name: string): string {
  try {
    return readProfile(directory, name) ?? ''
  } catch (error) {
    if (error instanceof UnusableProfile) return ''
    throw error
  }
}

function faultOf(error: unknown): Fault {
  if (process.platform === 'win32' && isHeld(error)) return 'held'
  return NO_FILE.includes(errnoOf(error) ?? '') ? 'damaged' : 'unreadable'
}

/** Used files and the records of devices have other names. */
const isUnused = (name: string) => name.endsWith('.json') && !name.startsWith('__')

export interface StoredProfile {
  readonly iccid: string
  readonly profile: string
}

export const toFile = ({ iccid, profile }: StoredProfile) => JSON.stringify({ iccid, profile })

/** RFC 4648 4, of any length. */
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** The file may be foreign, and the ICCID becomes a file name, so it is checked. */
export function parseProfile(line: string): StoredProfile | undefined {
  const { iccid, profile } = fieldsOf(line)
  if (typeof iccid !== 'string' || typeof profile !== 'string' || !BASE64.test(profile)) return undefined
  return iccidDigits(iccid) === undefined ? undefined : { iccid, profile }
}
