import { lstatSync, mkdirSync, statSync } from 'node:fs'
import { dirname, parse } from 'node:path'
import { flushDirectory } from '../flush.ts'

/**
 * Makes a directory, private to the user, and those above it, where they are missing. A link to a directory is one.
 * Node's own way tells a wrong reason where one can't be made.
 * @throws {Error} that says why there is none
 */
export async function makeDirectory(path: string): Promise<void> {
  const above = dirname(path)
  if (above !== path && !isDirectory(above)) await makeDirectory(above)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (!isDirectory(path)) throw whyNone(path, error)
  }
  // Also where it is there already: the call that made it may have been killed before this.
  for (const place of [above, dirname(above)]) await flushDirectory(place).catch(() => {})
}

export const isDirectory = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

function whyNone(path: string, error: unknown): unknown {
  // Windows says the same of every path on a drive or share that is not there.
  if (parse(path).root === path) return new Error(`there is no drive or share ${path}`)
  const status = lstatSync(path, { throwIfNoEntry: false })
  if (status === undefined) return error
  return new Error(`${path} ${status.isSymbolicLink() ? 'is a link to nothing' : 'is no directory'}`)
}
