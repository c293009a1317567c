/** What the system tells of a running process (proc(5)); only Linux does. */
import { existsSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'

export const hasProc = existsSync('/proc/self/status')

/** How many times a process has tried to write. */
export function writesOf(pid: number): number {
  return Number(/^syscw: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1])
}

/** How many times a process has tried to read. */
export function readsOf(pid: number): number {
  return Number(/^syscr: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1])
}

/** Whether a process has a handler of its own for a signal. */
export const catches = (pid: number, signal: NodeJS.Signals) => isIn('SigCgt', pid, signal)

/** Whether a signal that was sent to a process has not reached it yet. */
export const isPending = (pid: number, signal: NodeJS.Signals) =>
  isIn('SigPnd', pid, signal) || isIn('ShdPnd', pid, signal)

/** Whether a signal is in one of the sets of signals that a process has. */
function isIn(set: string, pid: number, signal: NodeJS.Signals): boolean {
  const [, mask = '0'] =
    RegExp(`^${set}:\\s*([0-9a-f]+)$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return ((BigInt(`0x${mask}`) >> BigInt(constants.signals[signal] - 1)) & 1n) === 1n
}
