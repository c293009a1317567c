/**
 * What comes to a stick (FAT, exFAT), where a power cut or a pull during a rename may cost both names. So nothing is
 * renamed there: each file gets its name when it is made, a name without contents is filled by the same command, and the
 * directory that is made first decides. One machine has a stick at a time. The order of flushes that Linux needs there is in
 * files.ts.
 */
import { lstatSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errnoOf } from '../failure.ts'
import * as files from './files.ts'
import { look } from './listing.ts'
import { fieldsOf, iccidOf, nameOf, pathIn } from './names.ts'
import { readUsed } from './state.ts'

/** Writes a new file, or what a power cut has left of it. Others may write the same. */
function fill(path: string, text: string): void {
  const above = dirname(path)
  const { size } = statSync(above)
  try {
    files.write(path, '')
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
  }
  // The directory has grown: nobody may read what was in its new cluster.
  if (statSync(above).size !== size) files.flushDirectory(above)
  // What is left of a longer text becomes empty lines, because a file that gets shorter frees its clusters.
  writeFileSync(path, text.padEnd(lstatSync(path).size, '\n'), { flag: 'r+' })
}

/** Whether a JSON file is whole, or will be within a second. If not, a power cut took what was in it, or a kill. */
export const isWholeSoon = (path: string): boolean =>
  files.waitFor(() => Object.keys(fieldsOf(files.read(path))).length > 0)

/**
 * Makes a directory with one file. Who makes it first decides what that says; if it is not whole soon, anybody does. It is
 * durable then.
 */
export function decideOnStick(place: string, entry: string, text: string): void {
  const path = join(place, entry)
  if (files.makeNew(place) || !isWholeSoon(path)) fill(path, text)
  files.flushFile(path)
}

/**
 * Writes each profile under its name, unless the directory has it. They are durable then.
 * @param textOf what a profile's file says where it comes from; undefined if that has forgotten it, because it has come
 * @returns whether they are there: a stick that was pulled has undone what was not flushed
 */
export async function arriveOnStick<I extends { readonly name: string }>(
  directory: string,
  items: readonly I[],
  textOf: (item: I) => string | undefined,
): Promise<boolean> {
  const { used, held, aside } = look(directory)
  const known = new Set([...used, ...held.map(({ name }) => name), ...aside].map(iccidOf))
  const others = items.filter(({ name }) => !known.has(iccidOf(name)))
  for (const item of others) {
    const [path, text] = [pathIn(directory, item.name), textOf(item)]
    // A part of it may be what was on the disk before.
    if (text !== undefined && files.read(path)?.trimEnd() !== text.trimEnd()) fill(path, text)
  }
  files.flushDirectory(directory)
  const paths = others.map(({ name }) => pathIn(directory, name))
  await files.flushFiles(paths, true)
  return others.every(({ name }) => isWhole(directory, name))
}

/** What was on the disk before may be another profile. */
function isWhole(directory: string, name: string): boolean {
  const read = readUsed(directory, name)
  return typeof read !== 'string' && iccidOf(nameOf(read.iccid)) === iccidOf(name)
}
