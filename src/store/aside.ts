/** What `restore` does with profiles that receipts name. Until it ends, no other call uses the directory. */
import type { By } from './claims.ts'
import * as files from './files.ts'
import { asideName, type Held, newTag, pathIn, placesOf, usedName } from './names.ts'
import { readUsed } from './state.ts'

/**
 * Puts profiles aside, so that nobody hands them out. It is durable then.
 * @param all X of unused profiles, and what moves hold
 */
export function putAside(directory: string, all: readonly (string | Held)[]): void {
  for (const each of all) {
    const name = typeof each === 'string' ? each : each.name
    const held = typeof each === 'string' ? [] : [placesOf(directory, each).held]
    // A backup that keeps what was removed has both.
    // Beside a used file, it is rubbish.
    for (const from of [...held, pathIn(directory, name)])
      if (files.exists(pathIn(directory, usedName(name)))) files.remove(from)
      else files.rename(from, pathIn(directory, asideName(name)))
  }
  files.flushDirectory(directory)
}

/** A profile that a receipt names as handed out: to whom, when, and by which station. */
export interface Adopted extends By {
  /** X, which is aside. */
  readonly name: string
  readonly device?: string | undefined
}

/**
 * Makes profiles used that are aside. It is durable then. No record is made.
 * @returns X of those whose file is damaged: they stay aside
 */
export async function adoptUsed(directory: string, all: readonly Adopted[]): Promise<string[]> {
  const damaged: string[] = []
  const drafts: { readonly name: string; readonly path: string }[] = []
  for (const { name, ...by } of all) {
    const stored = readUsed(directory, asideName(name))
    if (typeof stored === 'string') {
      damaged.push(name)
      continue
    }
    const claim = newTag()
    const path = pathIn(directory, `.~${claim}`)
    files.write(path, JSON.stringify({ ...stored, ...by, claim }))
    drafts.push({ name, path })
  }
  await files.flushFiles(drafts.map(({ path }) => path))
  // A used file is never replaced.
  for (const { name, path } of drafts)
    if (files.exists(pathIn(directory, usedName(name)))) files.remove(path)
    else files.rename(path, pathIn(directory, usedName(name)))
  files.flushDirectory(directory)
  for (const { name } of drafts) files.remove(pathIn(directory, asideName(name)))
  files.flushDirectory(directory)
  return damaged
}
