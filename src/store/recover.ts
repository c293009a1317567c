import { lstat, readdir, readFile, rename, unlink, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { errnoOf, Failure, reasonOf } from '../errors.ts'
import { type Added, publishAside } from './add.ts'
import { ASIDE, asidePath, hasIncoming, INCOMING, isAbandoned, newAside, parseAside } from './incoming.ts'
import { closeTarget, type Target, targetOf } from './target.ts'

/**
 * Finishes what calls that were killed have left: publishes the profiles of the answers they had put aside.
 * @returns what it did, undefined where there was nothing to do
 * @throws {Failure} `disk`
 */
export async function recover(directory: string): Promise<Added | undefined> {
  try {
    const names = await abandoned(directory)
    if (names.length === 0) return undefined
    const target = targetOf(directory)
    const all: Added[] = []
    for (const name of names) {
      if (name.endsWith(ASIDE)) all.push(...(await finish(target, name)))
      else await unlink(asidePath(directory, name)).catch(() => {})
    }
    if (all.length === 0) return undefined
    closeTarget(target)
    return { stored: all.flatMap(({ stored }) => stored), known: all.flatMap(({ known }) => known) }
  } catch (error) {
    if (error instanceof Failure) throw error
    throw new Failure('disk', `can't store what an interrupted fetch received: ${reasonOf(error)}`, {
      cause: error,
    })
  }
}

/** Publishes one answer; of several calls that find the same one, that whose rename succeeds. */
async function finish(target: Target, name: string): Promise<Added[]> {
  const { directory } = target
  const own = newAside()
  try {
    // Of our clock and now, before it has our name: nobody else takes it for abandoned while we publish it.
    await utimes(asidePath(directory, name), new Date(), new Date())
    await rename(asidePath(directory, name), asidePath(directory, own + ASIDE))
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return []
    throw error
  }
  const text = await readFile(asidePath(directory, own + ASIDE), 'utf8')
  return [await publishAside(target, own, parseAside(text))]
}

async function abandoned(directory: string): Promise<string[]> {
  if (!hasIncoming(directory)) return []
  const names = await readdir(join(directory, INCOMING))
  const found: string[] = []
  for (const name of names.sort()) {
    const status = await lstat(asidePath(directory, name)).catch(() => undefined)
    if (status?.isFile() && isAbandoned(name, Date.now() - status.mtimeMs)) found.push(name)
  }
  return found
}
