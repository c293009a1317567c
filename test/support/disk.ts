import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, ftruncateSync, openSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDirectory } from './directory.ts'

const UNSHARE = ['--mount', '--map-root-user']
const BLOCK = 4096

/** Whether this user may mount a disk that nobody else sees; many systems allow it to root only, or only Linux has it. */
export const hasSmallDisks =
  spawnSync('unshare', [...UNSHARE, 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0

export interface SmallDisk {
  /** An empty directory, which is all of the disk. */
  readonly path: string
  /** Fills it but for so many blocks of 4096 bytes. */
  fill(blocksLeft?: number): void
  /** Takes away again what filled it. */
  clear(): void
  close(): Promise<void>
}

/**
 * A disk of that many megabytes, in memory, mounted for a process of its own and seen through it.
 * @param most how many files and directories may be on it
 */
export async function smallDisk(megabytes: number, most = 100_000): Promise<SmallDisk> {
  const place = temporaryDirectory()
  const script = 'mount -t tmpfs -o "$1" tmpfs "$0" && echo mounted && exec cat'
  const size = `size=${megabytes}m,nr_inodes=${most}`
  const holder = spawn('unshare', [...UNSHARE, 'sh', '-c', script, place, size])
  await once(holder.stdout, 'data')
  const path = `/proc/${holder.pid}/root${place}`
  const filler = join(path, 'filler')
  return {
    path,
    fill(blocksLeft = 0) {
      const file = openSync(filler, 'a')
      const block = Buffer.alloc(BLOCK, 'x')
      try {
        for (;;) writeSync(file, block)
      } catch {
        ftruncateSync(file, statSync(filler).size - blocksLeft * BLOCK)
      } finally {
        closeSync(file)
      }
    },
    clear() {
      closeSync(openSync(filler, 'w'))
    },
    async close() {
      holder.stdin.end()
      await once(holder, 'close')
    },
  }
}
