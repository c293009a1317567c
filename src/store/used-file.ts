/** What the text of a used file says: who claimed the profile and when, for which device, or for which move. */
import { hostname } from 'node:os'
import { UnusableProfile } from '../failure.ts'
import { attempt } from './patience.ts'

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
export function moveTo(text: string): string | undefined {
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

/** What the used file of a profile says that a move claims. */
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
