import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { decide, finish, settleFirst } from '../claim/take-over.ts'
import { useOf } from '../claim/use.ts'
import { flushDirectorySync } from '../flush/directory.ts'
import { flushPathSync } from '../flush/files.ts'
import { usedName } from '../names.ts'
import { patiently } from '../patience.ts'
import { writeDraft } from './draft.ts'
import { type Assignment, textOf } from './history.ts'

/**
 * Repairs the used file of a profile that is recorded for a device: a power cut left it torn, or empty.
 * @param isTornOnly whether an empty one stays, because another call may be claiming the profile
 * @returns false if it is not repaired
 * @throws the system error
 */
export function repair(directory: string, { name, text }: Assignment, isTornOnly: boolean): boolean {
  if (!isTorn(directory, name, text, isTornOnly) || settleFirst(directory, name) === 'left') return false
  // Once more: another call may have completed its claim before that.
  if (!isTorn(directory, name, text, isTornOnly)) return false
  if (!decide(directory, name, 'device')) {
    finish(directory, name)
    return false
  }
  // Not in place: the call that created the file may still write to it.
  const draft = writeDraft(directory, text)
  const used = join(directory, usedName(name))
  patiently(() => renameSync(draft.path, used))
  flushPathSync(used)
  flushDirectorySync(directory)
  return true
}

/** Whether the used file has only the beginning of what it should say. */
function isTorn(directory: string, name: string, text: string, isTornOnly: boolean): boolean {
  const { state } = useOf(directory, name)
  const torn = textOf(directory, usedName(name))
  return state === 'begun' && text.startsWith(torn) && !(isTornOnly && torn === '')
}
