import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { release } from 'node:os'
import { promisify } from 'node:util'
import { isInMemory, isTested } from './flush.ts'

const run = promisify(execFile)

/** From this version on, syncfs(2) reports errors of files that were written before. */
const LEAST_KERNEL = { major: 5, minor: 8 }

/** Fewer are flushed faster one by one. */
const LEAST_FILES = 64

/** Not by the PATH of the user: another program of that name would get what this process may do. */
const SYNC_PATHS = ['/usr/bin/sync', '/bin/sync', '/run/current-system/sw/bin/sync']

/** A file system takes longer only if another program has written much to it. Flushing one by one may wait less. */
const LONGEST_MS = 30_000

/** In kB. If more waits for the disk, other programs wrote it: the flush would wait for theirs, and gain nothing. */
const MOST_UNWRITTEN = 64 * 1024

/**
 * Flushes everything on a file system in one go. For a thousand new files, this takes a fraction of the time of a
 * thousand flushes. Node has no syncfs(2), so GNU's `sync -f` makes the call. The `sync` of others ignores errors or
 * the option.
 */
export class FileSystemFlush {
  readonly #path: string
  readonly #longestMs: number
  readonly #syncPaths: readonly string[]
  /** The path of GNU's `sync`, looked up once. */
  #sync: Promise<string | undefined> | undefined
  /** There, a power cut leaves nothing. */
  readonly #isInMemory: boolean
  #hasFailed = false
  #running: Promise<boolean> | undefined
  #next: Promise<boolean> | undefined

  constructor(path: string, longestMs = LONGEST_MS, syncPaths: readonly string[] = SYNC_PATHS) {
    this.#path = path
    this.#longestMs = longestMs
    this.#syncPaths = syncPaths
    this.#isInMemory = isInMemory(path)
  }

  /**
   * A call that is made during a flush waits for another one: the first may have begun before its files were written.
   * All such calls share it. None is made after one has failed: the system reports an error only once, so the next one
   * would not fail, although it may be the one whose files were not written.
   * @returns false if it failed, or if there is any doubt that it works here
   */
  async flush(): Promise<boolean> {
    if (this.#isInMemory) return true
    const sync = await this.#syncPath()
    return sync !== undefined && this.#flush(sync)
  }

  /** Whether `flush` is likely to work for so many files, and to save time. Ask before they are written. */
  async isFor(count: number): Promise<boolean> {
    if (this.#isInMemory) return true
    if (count < LEAST_FILES || this.#hasFailed || unwritten() > MOST_UNWRITTEN) return false
    return (await this.#syncPath()) !== undefined
  }

  #syncPath(): Promise<string | undefined> {
    this.#sync ??= syncFor(this.#path, this.#syncPaths, this.#longestMs)
    return this.#sync
  }

  async #flush(sync: string): Promise<boolean> {
    if (this.#hasFailed) return false
    if (this.#running === undefined) {
      this.#running = succeeds(sync, this.#path, this.#longestMs).then((isFlushed) => {
        this.#hasFailed = !isFlushed
        this.#running = undefined
        return isFlushed
      })
      return this.#running
    }
    this.#next ??= this.#running.then(() => {
      this.#next = undefined
      return this.#flush(sync)
    })
    return this.#next
  }
}

/** How many kB of files this machine has not written to any of its disks; Linux does not tell them apart. */
function unwritten(): number {
  try {
    const kilobytes = readFileSync('/proc/meminfo', 'utf8').matchAll(/^(?:Dirty|Writeback):\s*(\d+) kB$/gm)
    return Array.from(kilobytes, ([, each]) => Number(each)).reduce((sum, each) => sum + each)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/** @returns undefined if the flush is not known to work here */
async function syncFor(
  path: string,
  syncPaths: readonly string[],
  longestMs: number,
): Promise<string | undefined> {
  if (process.platform !== 'linux') return undefined
  const [major = 0, minor = 0] = release().split('.', 2).map(Number)
  const isNew = (major - LEAST_KERNEL.major || minor - LEAST_KERNEL.minor) >= 0
  try {
    if (!isNew || !isTested(path)) return undefined
    const sync = syncPaths.find((each) => existsSync(each))
    if (sync === undefined) return undefined
    const { stdout } = await run(sync, ['--version'], within(longestMs))
    return stdout.includes('GNU coreutils') ? sync : undefined
  } catch {
    return undefined
  }
}

/** A directory may be called `--help`. */
const succeeds = (sync: string, path: string, longestMs: number): Promise<boolean> =>
  run(sync, ['-f', '--', path], within(longestMs)).then(
    () => true,
    () => false,
  )

/** The environment of this process contains the API key. */
const within = (longestMs: number) => ({ timeout: longestMs, killSignal: 'SIGKILL', env: {} }) as const
