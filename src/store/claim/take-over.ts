/**
 * What becomes of a claim that is not complete. The settled name decides it: a file while the call that began the claim
 * releases it, a directory once another call has taken it over.
 */

import { randomUUID } from 'node:crypto'
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { errnoOf } from '../../failure.ts'
import { flushDirectorySync } from '../flush/directory.ts'
import { flushPathSync } from '../flush/files.ts'
import { settledName, usedName } from '../names.ts'
import { patiently } from '../patience.ts'
import { fileRights, rightsOf } from '../rights.ts'
import { isTakenOver, useOf } from './use.ts'

/**
 * Takes over a claim that another call has begun, and completes it. That call can't print the profile any more.
 * @param finishesOthers whether to finish what a third call took over: it may be about to print the profile
 * @returns `left` if that call is releasing its claim, or has completed it; `finished` if a third call took it over, and
 *   may have been killed; `complete` if the used file is complete, and may name a device
 * @throws the system error
 */
export function takeOver(
  directory: string,
  name: string,
  finishesOthers = false,
): 'ours' | 'finished' | 'left' | 'complete' {
  const outcome = settleFirst(directory, name)
  if (outcome === 'left' || (outcome === 'finished' && !finishesOthers)) return 'left'
  // Not before this: a call for a device looks for the settled name after it has written the used file.
  const use = useOf(directory, name)
  if (use.state === 'used' && use.unused !== undefined) return 'complete'
  if (outcome === 'ours' && (use.state === 'unused' || use.state === 'moved'))
    removeEmpty(join(directory, settledName(name)))
  return use.state === 'begun' && finish(directory, name) ? outcome : 'left'
}

/** The claim was released before it was taken over, or it is a move's. */
function removeEmpty(settled: string): void {
  try {
    rmdirSync(settled)
  } catch {}
}

/**
 * Decides, once, whose a profile is that was taken over: a file stands for the device that the used file names, a
 * directory for nobody. Any call may finish it then.
 * @returns whether it is decided this way
 * @throws the system error
 */
export const decide = (directory: string, name: string, whose: 'device' | 'nobody'): boolean =>
  decideOnce(join(directory, settledName(name), 'whose'), whose === 'device', rightsOf(directory))

/**
 * Decides something, once, by the creation of a name: a file or a directory.
 * @returns whether it is decided this way
 * @throws the system error
 */
export function decideOnce(path: string, asFile: boolean, rights: number): boolean {
  try {
    if (asFile) closeSync(openSync(path, 'wx', fileRights(rights)))
    else mkdirSync(path, { mode: rights })
    return true
  } catch (error) {
    const decided = lstatSync(path, { throwIfNoEntry: false })
    if (decided === undefined) throw error
    return decided.isDirectory() !== asFile
  }
}

/**
 * Completes a claim that is taken over, for nobody: its used file becomes a copy of the unused one.
 * @returns false if another process was faster, or if the profile is a device's
 * @throws the system error
 */
export function finish(directory: string, name: string): boolean {
  const [unused, used] = [join(directory, name), join(directory, usedName(name))]
  // Others may finish it at the same time.
  const draft = join(directory, settledName(name), `~${randomUUID()}`)
  try {
    if (!decide(directory, name, 'nobody')) return false
    // Not in place: the call that created the used file may still write to it.
    writeFileSync(draft, readFileSync(unused), { mode: fileRights(rightsOf(directory)), flush: true })
    patiently(() => renameSync(draft, used))
    flushPathSync(used)
    flushDirectorySync(directory)
    patiently(() => unlinkSync(unused))
    flushDirectorySync(directory)
    return true
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false
    throw error
  }
}

/**
 * Decides that a claim is taken over, whatever becomes of it then.
 * @returns as `takeOver`
 * @throws the system error
 */
export function settleFirst(directory: string, name: string): 'ours' | 'finished' | 'left' {
  const settled = join(directory, settledName(name))
  try {
    mkdirSync(settled, { mode: rightsOf(directory) })
    return 'ours'
  } catch (error) {
    if (isTakenOver(directory, name)) return 'finished'
    if (existsSync(settled)) return 'left'
    throw error
  }
}
