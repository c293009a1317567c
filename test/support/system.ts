/** What the system of a test run can do; tests of the rest are skipped there. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const isWindows = process.platform === 'win32'

/** Windows has neither signals that a program can catch, nor modes of files, nor /bin/sh. */
export const hasPosix = !isWindows

/** A device that every write to finds full; Linux has it. */
export const hasFullDevice = existsSync('/dev/full')

/** Root may read and write whatever the modes say. */
export const modesCount = hasPosix && process.getuid?.() !== 0

/** On Windows links take a right that not everybody has. */
export const hasSymlinks = canLink()

/** A build that is not run by the Node at hand takes no options of Node. */
export const isRunByNode = !process.env['SOFTSIM_BIN']

function canLink(): boolean {
  const directory = mkdtempSync(join(tmpdir(), 'softsim-link-'))
  try {
    symlinkSync('nowhere', join(directory, 'link'))
    return true
  } catch {
    return false
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** Whether a program is there to be run. */
export const hasProgram = (name: string) => spawnSync(name, ['--version']).error === undefined

/** Whether the file system of the tests says when a file was made, and says something else of its copy. */
export const tellsBirth = process.platform === 'linux' && isBirthTold()

function isBirthTold(): boolean {
  const directory = mkdtempSync(join(tmpdir(), 'softsim-birth-'))
  try {
    return statSync(directory, { bigint: true }).birthtimeNs > 0n
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** Whether the system tells of a running process (proc(5)); only Linux does. */
export const hasProc = existsSync('/proc/self/status')

/** How many times a process has tried to write. */
export function writesOf(pid: number): number {
  return Number(/^syscw: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1])
}

/** How many times a process has tried to read. */
export function readsOf(pid: number): number {
  return Number(/^syscr: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1])
}
