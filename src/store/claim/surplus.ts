import { join } from 'node:path'
import { flushDirectorySync } from '../flush/directory.ts'
import { flushPathSync } from '../flush/files.ts'
import { whoseIs } from '../move/journal.ts'
import { patiently } from '../patience.ts'
import { removeIfThere } from '../remove.ts'
import { deviceIn, useOf } from './use.ts'

/**
 * Removes an unused file whose profile is used: its claim is complete, and the file was stored once more. A used file
 * that names a device may belong to a claim that is not complete, and a move that is not decided may be taken back.
 * @returns whether there was one
 * @throws {UnusableProfile} if the used file can't be read
 * @throws the system error
 */
export function removeSurplus(directory: string, name: string): boolean {
  const use = useOf(directory, name)
  if (use.unused === undefined || !(use.state === 'used' || use.state === 'moved')) return false
  const isClaimed =
    use.state === 'used'
      ? deviceIn(use.text) === undefined
      : whoseIs({ id: use.tombstone.move, source: directory }) === 'target'
  if (!isClaimed) return false
  // On FAT, the call that wrote it may not have flushed it yet.
  flushPathSync(join(directory, use.used))
  flushDirectorySync(directory)
  const path = join(directory, use.unused)
  return patiently(() => removeIfThere(path))
}
