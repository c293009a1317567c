/** What disks of some kinds do otherwise when a file is opened, renamed or removed. */
import { constants } from 'node:fs'
import { flagsOf, systemError } from './inode.ts'
import type { Run } from './look.ts'

const SCAN_MS = 60

/** @throws EBUSY while the scanner has the file */
export function checkScanner({ world }: Run, path: string, syscall: string, flags?: number | string): void {
  if (!world.kind.hasScanner) return
  const bits = flags === undefined ? constants.O_RDWR : flagsOf(flags)
  const inode = world.disk.at(path)
  const isChange = (bits & (constants.O_WRONLY | constants.O_RDWR)) !== 0
  if (!isChange || inode === undefined || inode.names !== undefined) return
  if (world.now - inode.mtimeMs < SCAN_MS) throw systemError('EBUSY', syscall, path)
}

/** Whether another call did the same while this one was about to do it, and this one is told that it succeeded. */
export function wonToo({ world, call, isResuming }: Run, what: string): boolean {
  if (!world.kind.letsTwoWin || !isResuming) return false
  return world.moves.some((each) => each.what === what && each.call !== call.id && each.at > call.pausedAt)
}
