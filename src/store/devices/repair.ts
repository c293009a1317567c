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
 * Repairs the used file of a profile that is recorded for a device: a power cut left it torn.
 * @returns false if it is not repaired
 * @throws the system error
 */
export function repair(directory: string, assignment: Assignment): boolean {
  const { name, text } = assignment
  if (!isTorn(directory, assignment) || settleFirst(directory, name) === 'left') return false
  // Once more: another call may have completed its claim before that.
  if (!isTorn(directory, assignment)) return false
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

/** Whether the used file has only the beginning of what it should say. With less, it may be that of another call. */
function isTorn(directory: string, { device, name, text }: Assignment): boolean {
  const { state } = useOf(directory, name)
  const torn = textOf(directory, usedName(name))
  return state === 'begun' && text.startsWith(torn) && torn.includes(`"device":${JSON.stringify(device)}`)
}
