/** A serial number may contain any characters, and case matters: it can't be a file name itself. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'

/** The hidden directory of the records. */
export const RECORDS = '.devices'

/** The path of a record of a device, counted from 1. */
export const pathOf = (directory: string, device: string, number: number): string =>
  join(directory, RECORDS, `${hashOf(device)}.${number}`)

export const isRecord = (name: string) => /^[0-9a-f]{64}\.\d+$/.test(name)

/** The path of the note of the profile that a call for a device begins to claim. */
export const begunPath = (directory: string, device: string): string =>
  join(directory, RECORDS, `${hashOf(device)}.begun`)

const hashOf = (device: string) => createHash('sha256').update(device).digest('hex')
