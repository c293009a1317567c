/** What `restore` does with profiles that receipts name. Until it ends, no other call uses the directory. */

import type { By } from './claims.ts'
import { exists, flushDirectory, flushFiles, readText, remove, rename, write } from './files.ts'
import { asideName, fieldsOf, type Held, newTag, pathIn, placesOf, usedName } from './names.ts'
import { readUsed } from './state.ts'

/**
 * Puts profiles aside, so that nobody hands them out. It is durable then.
 * @param all X of unused profiles, and what moves hold
 */
export function putAside(directory: string, all: readonly (string | Held)[]): void {
  for (const each of all) {
    const name = typeof each === 'string' ? each : each.name
    const from = typeof each === 'string' ? pathIn(directory, each) : placesOf(directory, each).held
    // Beside a used file, it is rubbish.
    if (exists(pathIn(directory, usedName(name)))) remove(from)
    else rename(from, pathIn(directory, asideName(name)))
  }
  flushDirectory(directory)
}

/** A profile that a receipt names as handed out. */
export interface Adopted {
  /** X, which is aside. */
  readonly name: string
  readonly by: By
  readonly device?: string | undefined
}

/**
 * Makes profiles used that are aside. It is durable then. No record is made.
 * @returns X of those that it made used; one whose file is damaged stays aside
 */
export async function adoptUsed(directory: string, all: readonly Adopted[]): Promise<string[]> {
  const drafts: { readonly name: string; readonly path: string }[] = []
  for (const { name, by, device } of all) {
    if (typeof readUsed(directory, asideName(name)) === 'string') continue
    const stored = readText(pathIn(directory, asideName(name)))
    const claim = newTag()
    const path = pathIn(directory, `.~${claim}`)
    write(
      path,
      JSON.stringify({ ...fieldsOf(stored), ...by, ...(device !== undefined && { device }), claim }),
    )
    drafts.push({ name, path })
  }
  await flushFiles(drafts.map(({ path }) => path))
  const made = drafts.filter(({ name, path }) => {
    const used = pathIn(directory, usedName(name))
    if (!exists(used)) return rename(path, used)
    remove(path)
    return false
  })
  flushDirectory(directory)
  for (const { name } of drafts) remove(pathIn(directory, asideName(name)))
  flushDirectory(directory)
  return made.map(({ name }) => name)
}
