import { closeSync, linkSync, openSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FLUSHES_AT_ONCE, flushFile, flushFiles } from '../flush/files.ts'
import { fileName, hasFiller } from '../names.ts'
import { patiently } from '../patience.ts'
import { removeIfThere } from '../remove.ts'
import { fileRights } from '../rights.ts'
import { ANSWER, incomingPath, type StoredProfile, toFile } from './answers.ts'
import { publishInPlace } from './in-place.ts'
import { type Added, find, flushKnown, isUsedSince } from './known.ts'
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
  const { directory } = target
  const prefix = incomingPath(directory, answer)
  const temporary = new Map<string, StoredProfile>()
  const known: string[] = []
  try {
    for (const [index, profile] of profiles.entries()) temporary.set(`${prefix}.${index}`, profile)
    await writeAll(target, temporary)
    for (const [path, profile] of temporary) {
      const name = fileName(profile.iccid)
      const found = find(target, name)
      if (found !== undefined) known.push(found)
      else {
        patiently(() => renameSync(path, join(directory, name)))
        temporary.delete(path)
        if (hasFiller(name)) target.hasFillers = true
      }
      const isNew = found === undefined && !isUsedSince(target, name)
      const list = isNew ? added.stored : added.known
      list.push(profile.iccid)
    }
    await flushFiles(known, flushKnown)
  } finally {
    for (const path of temporary.keys()) patiently(() => removeIfThere(path))
  }
}

/** Writes files and flushes them, all at once where that is known to work. */
async function writeAll(
  { fileSystem, rights }: Target,
  files: ReadonlyMap<string, StoredProfile>,
): Promise<void> {
  const paths = [...files.keys()]
  const isForAll = (await fileSystem?.isFor(paths.length)) === true
  for (let at = 0; at < paths.length; at += FLUSHES_AT_ONCE) {
    const written: number[] = []
    try {
      for (const path of paths.slice(at, at + FLUSHES_AT_ONCE)) {
        const file = openSync(path, 'wx', fileRights(rights))
        written.push(file)
        writeFileSync(file, toFile(files.get(path) as StoredProfile))
      }
      if (!isForAll) await Promise.all(written.map(flushFile))
    } finally {
      for (const file of written) closeSync(file)
    }
  }
  if (isForAll && !(await fileSystem?.flush(paths.length))) await flushFiles(paths)
}
