/** What the system tells of a running process (proc(5)); only Linux does. */
import { existsSync, readFileSync } from 'node:fs'

export const hasProc = existsSync('/proc/self/status')

/** How many times a process has tried to write. */
export function writesOf(pid: number): number {
  return Number(/^syscw: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1])
}

/** How many times a process has tried to read. */
export function readsOf(pid: number): number {
  return Number(/^syscr: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1])
}
