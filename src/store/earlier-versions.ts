/** What versions 1.0 and 1.1 left in a directory. It is read, and never written or removed. */
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../failure.ts'
import { iccidDigits } from '../profile/iccid.ts'
import { namesIn } from './directory-entries.ts'
import { readUsed } from './listing.ts'
import { fileName, MOVES, RECORDS, usedName } from './names.ts'
import { deviceIn, readProfile, textOf, tombstoneIn } from './profile-file.ts'

/**
 * The text of a torn record. The call that created it had created the used file before.
 * @throws {Failure} `torn-record` if no used file names the device, or several do
 */
export function restoredRecord(directory: string, device: string, path: string): string {
  const [text, another] = readUsed(directory)
    .map((name) => textOf(directory, name))
    .filter((each) => deviceIn(each) === device)
  if (text !== undefined && another === undefined) return text
  throw new Failure({ kind: 'torn-record', path }, `the record ${path} of device ${device} is not complete`)
}

/**
 * The text of the used file that a call of 1.1 began for a device before it recorded that: it left a note of the name.
 * @param hash of the device
 */
export function notedFor(directory: string, device: string, hash: string): string | undefined {
  const name = readProfile(join(directory, RECORDS), `${hash}.begun`)
  if (name === undefined || iccidDigits(name.replace(/\.json$/, '')) === undefined) return undefined
  const text = textOf(directory, usedName(fileName(name.replace(/\.json$/, ''))))
  return deviceIn(text) === device ? JSON.stringify({ ...JSON.parse(text), file: name }) : undefined
}

/**
 * The journal of a move of version 1.1: the drafts of its tombstones, and a file or a directory that says whose its
 * profiles are, the target's or the source's.
 */
export function earlierEntries(directory: string, id: string): Record<string, unknown>[] {
  const place = join(directory, MOVES, id)
  const drafts = namesIn(place).filter((name) => name.includes('~'))
  if (drafts.length === 0) return []
  const names = [...new Set(drafts.map((name) => name.split('~')[0]))]
  const to = drafts.map((name) => tombstoneIn(textOf(place, name))?.to).find((each) => each !== undefined)
  const decided = lstatSync(join(directory, MOVES, `${id}.whose`), { throwIfNoEntry: false })
  const fate = decided && { fate: decided.isDirectory() ? 'back' : 'given' }
  return [{ to, count: null, names }, ...(fate === undefined ? [] : [fate])]
}
