/** What the figures depend on, and whether there is room to measure them. */
import { execFileSync } from 'node:child_process'
import { readdirSync, statfsSync } from 'node:fs'
import { arch, cpus, loadavg, release, totalmem, type } from 'node:os'
import { basename } from 'node:path'
import { grouped } from './table.ts'

/** A block, its share of the directory and its inode. */
const BYTES_A_FILE = 5 * 1024

/** The machine and the versions, one a line. */
export function describeMachine(directory: string, version: string): string[] {
  const [cpu] = cpus()
  const gigabytes = Math.round(totalmem() / 1024 ** 3)
  const load = loadavg().map((average) => average.toFixed(1))
  return [
    `softsim ${version}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}`,
    `${cpu?.model.trim() ?? 'unknown processor'}, ${cpus().length} cores, ${gigabytes} GB, ${type()} ${release()} ${arch()}`,
    `profiles on ${fileSystem(directory)}; load average before the start ${load.join(', ')}`,
  ]
}

/** The type of the file system that a directory is on. */
function fileSystem(directory: string): string {
  try {
    const options = ['--output=source,fstype', directory]
    const lines = execFileSync('df', options, { stdio: ['ignore', 'pipe', 'ignore'] })
      .toString()
      .trim()
      .split('\n')
    const [device = '', type = ''] = lines.at(-1)?.split(/\s+/) ?? []
    return `${type === 'ext4' && !hasJournal(device) ? 'ext4 without a journal' : type} (${device})`
  } catch {
    return `a file system of type 0x${statfsSync(directory).type.toString(16)}`
  }
}

/** Flushing costs several times as much with one, and making files after many were removed much less. */
const hasJournal = (device: string) =>
  readdirSync('/proc/fs/jbd2').some((name) => name.startsWith(`${basename(device)}-`))

/** @throws where a directory has no room for so many small files */
export function checkRoom(directory: string, files: number): void {
  const { bavail, bsize, files: inodes, ffree } = statfsSync(directory)
  const gigabytes = (bytes: number) => `${(bytes / 1024 ** 3).toFixed(1)} GB`
  const needed = `${grouped(files)} files, ${gigabytes(files * BYTES_A_FILE)}`
  // Some file systems make inodes as they need them, and say 0.
  if (bavail * bsize >= files * BYTES_A_FILE && (inodes === 0 || ffree >= files)) return
  const free = `${inodes === 0 ? '' : `${grouped(ffree)} files, `}${gigabytes(bavail * bsize)}`
  throw new Error(
    `${directory} needs free space for ${needed}, but has ${free}; use --dir to name another directory`,
  )
}
