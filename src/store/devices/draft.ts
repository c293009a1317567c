import { randomUUID } from 'node:crypto'
import { existsSync, linkSync, mkdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { errnoOf } from '../../failure.ts'
import { isExisting } from '../claim/claim.ts'
import { fieldsOf } from '../claim/use.ts'
import { flushDirectorySync } from '../flush/directory.ts'
import { writeNewSync } from '../flush/files.ts'
import { tryToRemove } from '../remove.ts'
import { fileRights, rightsOf } from '../rights.ts'
import { RECORDS } from './file-names.ts'
import { textOf } from './history.ts'

/** What the used file of a device's profile says. */
export const textFor = (device: string, { name, stored }: { name: string; stored: string }) =>
  JSON.stringify({
    ...fieldsOf(stored),
    device,
    station: hostname(),
    claimed: new Date().toISOString(),
    file: name,
  })

/** A complete file that gets its names by hard links, or is written again where the file system has none. */
export interface Draft {
  readonly text: string
  readonly path: string
  readonly rights: number
}

/** @throws the system error */
export function writeDraft(directory: string, text: string): Draft {
  makeRecords(directory)
  const path = join(directory, RECORDS, `~${randomUUID()}`)
  const rights = fileRights(rightsOf(directory))
  writeNewSync(path, text, rights)
  return { text, path, rights }
}

/** A name that it got stays. If it stays itself, nothing reads it. */
export const removeDraft = ({ path }: Draft): void => tryToRemove(path)

/**
 * Creates a file from a draft, at once complete where the file system has hard links.
 * @returns false if it has none: until the file is flushed, a power cut can leave it incomplete
 * @throws the system error, EEXIST if there is one of this name, ENOENT if the draft is gone
 */
export function createFrom({ path: draft, text, rights }: Draft, path: string): boolean {
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    // A disk that fails may have done what it was asked to do.
    if (textOf(dirname(path), basename(path)) === text) return true
    if (isExisting(error, path)) throw error
    if (!existsSync(draft)) throw Object.assign(new Error(`${draft} is gone`), { code: 'ENOENT' })
    writeNewSync(path, text, rights)
    return false
  }
}

function makeRecords(directory: string): void {
  try {
    mkdirSync(join(directory, RECORDS), { mode: rightsOf(directory) })
    flushDirectorySync(directory)
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
  }
}
