import { readdir, readFile, rename, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { errnoOf } from '../errors.ts'
import { type Added, publishAside } from './add.ts'
import { ASIDE, asidePath, INCOMING, isAbandoned, newAside, parseAside } from './incoming.ts'
import { closeTarget, openTarget } from './target.ts'

/**
 * Finishes what calls that were killed have left: publishes the profiles of the answers they had put aside.
 * @returns what it did, undefined where there was nothing to do
 * @throws {Failure} `disk`
 */
export async function recover(directory: string): Promise<Added | undefined> {
  const target = await openTarget(directory)
  let all: Added | undefined
  for (const name of await abandoned(directory)) {
    if (!name.endsWith(ASIDE)) {
      await unlink(asidePath(directory, name)).catch(() => {})
      continue
    }
    const aside = await takeOver(directory, name)
    if (aside === undefined) continue
    const profiles = parseAside(await readFile(asidePath(directory, aside + ASIDE), 'utf8'))
    const { stored, known } = await publishAside(target, aside, profiles)
    all = { stored: [...(all?.stored ?? []), ...stored], known: [...(all?.known ?? []), ...known] }
  }
  await closeTarget(target)
  return all
}

async function abandoned(directory: string): Promise<string[]> {
  const names = await readdir(join(directory, INCOMING)).catch(() => [])
  const found: string[] = []
  for (const name of names.sort()) {
    const status = await stat(asidePath(directory, name)).catch(() => undefined)
    if (status !== undefined && isAbandoned(name, Date.now() - status.mtimeMs)) found.push(name)
  }
  return found
}

/** Of several calls that find the same answer, the one whose rename succeeds publishes it. */
async function takeOver(directory: string, name: string): Promise<string | undefined> {
  const own = newAside()
  try {
    await rename(asidePath(directory, name), asidePath(directory, own + ASIDE))
    return own
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}
