/**
 * What becomes of a claim that is not complete. The settled name decides it: a file while the call that began the claim
 * releases it, a directory once another call has taken it over.
 */

import { randomUUID } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { errnoOf, Failure, reasonOf, remedyFor } from '../../failure.ts'
import { flushDirectorySync } from '../flush/directory.ts'
import { flushPathSync } from '../flush/files.ts'
import { settledName, usedName } from '../names.ts'
import { patiently } from '../patience.ts'
import { fileRights, rightsOf } from '../rights.ts'
import { useOf } from './use.ts'

const DRAFT = '~'

/**
 * Takes over a claim that another call has begun, and completes it. That call can't print the profile any more.
 * @param finishesOthers whether to finish what a third call took over: it may be about to print the profile
 * @returns `left` if that call is releasing its claim, or has completed it; `finished` if a third call took it over, and
 *   may have been killed; `whole` if the used file became complete at that moment, and names a device: only this call may
 *   record that
 * @throws the system error
 */
export function takeOver(
  directory: string,
  name: string,
  finishesOthers = false,
): 'ours' | 'finished' | 'left' | 'whole' {
  const outcome = settleFirst(directory, name)
  if (outcome === 'finished' && !(finishesOthers && isBeingFinished(directory, name))) return 'left'
  // Not before this: a call for a device looks for the settled name after it has written the used file.
  const use = useOf(directory, name)
  if (outcome === 'ours' && use.state === 'used' && use.unused !== undefined) return 'whole'
  if (outcome === 'ours' && use.state === 'unused') removeEmpty(join(directory, settledName(name)))
  if (outcome === 'left' || use.state !== 'begun') return 'left'
  return finish(directory, name) ? outcome : 'left'
}

/** A call that repairs the used file of a device takes a claim over, too. It has no draft. */
function isBeingFinished(directory: string, name: string): boolean {
  try {
    return readdirSync(join(directory, settledName(name))).some((each) => each.startsWith(DRAFT))
  } catch {
    return false
  }
}

/** The claim was released before it was taken over. */
function removeEmpty(settled: string): void {
  try {
    rmdirSync(settled)
  } catch {}
}

/**
 * Takes over a claim whose used file names a device that has another profile, and completes it.
 * @param text of the used file
 * @returns false if the names have changed
 * @throws the system error
 */
export function takeOverWhole(directory: string, name: string, text: string, isOurs: boolean): boolean {
  if (!isOurs && settleFirst(directory, name) !== 'ours') return false
  // Once more: the call that began the claim may have released it before that, and another one begun its own.
  const use = useOf(directory, name)
  if (use.state === 'used' && use.text === text && use.unused !== undefined) return finish(directory, name)
  if (!isOurs) removeEmpty(join(directory, settledName(name)))
  return false
}

/**
 * Completes a claim that this call has taken over: its used file becomes a copy of the unused one.
 * @returns false if another process was faster
 * @throws the system error
 */
function finish(directory: string, name: string): boolean {
  const [unused, used] = [join(directory, name), join(directory, usedName(name))]
  // Others may finish it at the same time.
  const draft = join(directory, settledName(name), `${DRAFT}${randomUUID()}`)
  try {
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
 * @param owner a name that tells later calls who took it over
 * @returns as `takeOver`
 * @throws the system error
 */
export function settleFirst(directory: string, name: string, owner?: string): 'ours' | 'finished' | 'left' {
  const settled = join(directory, settledName(name))
  try {
    mkdirSync(settled, { mode: rightsOf(directory) })
    if (owner !== undefined) mkdirSync(join(settled, owner), { mode: rightsOf(directory) })
    return 'ours'
  } catch (error) {
    if (isTakenOver(directory, name)) return 'finished'
    if (existsSync(settled)) return 'left'
    throw error
  }
}

/** Whether a claim was taken over with this name of an owner. */
export const isTakenOverBy = (directory: string, name: string, owner: string) =>
  existsSync(join(directory, settledName(name), owner))

/**
 * Whether another call has taken over the claim of a profile.
 * @param owner does not count
 * @throws {Failure} `disk` if nobody can tell
 */
export function isTakenOver(directory: string, name: string, owner?: string): boolean {
  const settled = join(directory, settledName(name))
  try {
    const isTaken = lstatSync(settled, { throwIfNoEntry: false })?.isDirectory() ?? false
    return isTaken && !(owner !== undefined && isTakenOverBy(directory, name, owner))
  } catch (error) {
    throw stuck(name, error)
  }
}

export const stuck = (name: string, error: unknown) =>
  new Failure('disk', `${name} may now count as used but was not printed: ${reasonOf(error)}`, {
    hint: `${remedyFor(error)}; softsim status names the profiles whose claims are not finished`,
    cause: error,
  })

/** Also a broken link: nothing can be created there. */
export const exists = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined
