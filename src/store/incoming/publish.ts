import { linkSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { removeSurplus } from '../claim/surplus.ts'
import { flushFiles } from '../flush/files.ts'
import { fileName, hasFiller } from '../names.ts'
import { patiently } from '../patience.ts'
import { removeIfThere } from '../remove.ts'
import { fileRights } from '../rights.ts'
import { ANSWER, incomingPath, type StoredProfile, toFile } from './answers.ts'
import { publishInPlace } from './in-place.ts'
import { type Added, find, flushKnown } from './known.ts'
import type { Target } from './target.ts'

/**
 * Gives profiles their names in the directory, each complete and flushed. The names are durable once the directory is
 * flushed. Without hard links (FAT, exFAT), a file is written under its final name: a rename may leave both names on
 * the disk for the same clusters, and removing one would then destroy the contents of the other.
 * @param answer the name of the answer, without its suffix
 * @param added collects the profiles as they get their names
 * @throws the system error; some profiles may have their names
 */
export async function publish(
  target: Target,
  answer: string,
  profiles: readonly StoredProfile[],
  added: Added,
): Promise<void> {
  target.hasLinks ??= hasLinks(target.directory, answer)
  const put = target.hasLinks ? publishByRename : publishInPlace
  await put(target, answer, profiles, added)
}

/**
 * Tests for hard links with the answer itself. File systems without them report this with many different errors. If the
 * disk is really broken, writing in place fails as well and reports it.
 */
function hasLinks(directory: string, answer: string): boolean {
  const name = incomingPath(directory, `${answer}.0`)
  try {
    linkSync(incomingPath(directory, answer + ANSWER), name)
  } catch {
    return false
  }
  patiently(() => unlinkSync(name))
  return true
}

async function publishByRename(
  target: Target,
  answer: string,
  profiles: readonly StoredProfile[],
  added: Added,
): Promise<void> {
  const { directory, rights } = target
  const mode = fileRights(rights)
  const prefix = incomingPath(directory, answer)
  const temporary = new Map<string, StoredProfile>()
  const known: string[] = []
  try {
    for (const [index, profile] of profiles.entries()) {
      const path = `${prefix}.${index}`
      temporary.set(path, profile)
      writeFileSync(path, toFile(profile), { flag: 'wx', mode })
    }
    await flushWritten(target, [...temporary.keys()])
    for (const [path, profile] of temporary) {
      const name = fileName(profile.iccid)
      const found = find(target, name)
      if (found !== undefined) known.push(found)
      else {
        patiently(() => renameSync(path, join(directory, name)))
        temporary.delete(path)
        if (hasFiller(name)) target.hasFillers = true
      }
      // Since the search, another process may have stored the same profile, and a third one claimed it.
      const isNew = found === undefined && !removeSurplus(directory, name)
      const list = isNew ? added.stored : added.known
      list.push(profile.iccid)
    }
    await flushFiles(known, flushKnown)
  } finally {
    for (const path of temporary.keys()) patiently(() => removeIfThere(path))
  }
}

async function flushWritten({ fileSystem }: Target, paths: readonly string[]): Promise<void> {
  if ((await fileSystem?.flush(paths.length)) !== true) await flushFiles(paths)
}
