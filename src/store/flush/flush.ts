/** What makes files and their names durable, and which file systems need what for it. */
import {
  closeSync,
  constants,
  fstatSync,
  fsync,
  fsyncSync,
  openSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { errnoOf } from '../../failure.ts'
import { attempt, ifThere, ignoreIfGone, patiently } from '../patience.ts'

/** Errors of other file systems that can't do it: 9p2000.u, some FUSE and some network file systems. */
const NO_FLUSH = ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'EBADF', 'ENOSYS']

/** Concurrent flushes share disk work. More than this block the event loop for long. */
export const FLUSHES_AT_ONCE = 64

/** Windows can't flush a directory. NTFS journals names itself. To flush a file there requires write access. */
const IS_WINDOWS = process.platform === 'win32'
const TO_FLUSH = IS_WINDOWS ? 'r+' : 'r'

const READ_DIRECTORY = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0)

const flushLater = promisify(fsync)

/**
 * Does not block the event loop.
 * @returns false if the file system does not support it
 * @throws the system error
 */
export const flushFile = (file: number): Promise<boolean> =>
  flushLater(file).then(() => true, falseWhereUnable)

/** The same, holding up the event loop. */
export function flushFileSync(file: number): boolean {
  try {
    fsyncSync(file)
    return true
  } catch (error) {
    return falseWhereUnable(error)
  }
}

/** @throws the error, unless it means that the file system can't flush */
function falseWhereUnable(error: unknown): false {
  if (NO_FLUSH.includes(errnoOf(error) ?? '')) return false
  throw error
}

/**
 * Writes a new file and flushes it. The name is not durable until the directory is flushed.
 * @throws the system error, EEXIST if the file exists
 */
export const writeFlushed = (path: string, contents: Buffer, mode: number): Promise<void> =>
  fillFlushed(openSync(path, 'wx', mode), contents)

/** The same for a new file that is open, and is closed then. */
export async function fillFlushed(file: number, contents: string | Uint8Array): Promise<void> {
  try {
    writeFileSync(file, contents)
    await flushFile(file)
  } finally {
    closeSync(file)
  }
}

/** What `FileSystemFlush` is. */
interface Together {
  isFor(count: number): Promise<boolean>
  flush(): Promise<boolean>
}

/**
 * Writes new files and flushes them, all in one go where that is known to work.
 * @param files their texts by path
 * @throws the system error, EEXIST if a file exists
 */
export async function writeAllFlushed(
  files: ReadonlyMap<string, string>,
  mode: number,
  fileSystem?: Together,
): Promise<void> {
  const paths = [...files.keys()]
  const isForAll = (await fileSystem?.isFor(paths.length)) === true
  for (let at = 0; at < paths.length; at += FLUSHES_AT_ONCE) {
    const written: number[] = []
    try {
      for (const path of paths.slice(at, at + FLUSHES_AT_ONCE)) {
        const file = patiently(() => openSync(path, 'wx', mode))
        written.push(file)
        writeFileSync(file, files.get(path) ?? '')
      }
      if (!isForAll) await Promise.all(written.map(flushFile))
    } finally {
      written.forEach(closeSync)
    }
  }
  if (isForAll && !(await fileSystem?.flush())) await flushFiles(paths)
}

/**
 * FAT needs a flush after a rename: until then, the new name on the disk has no contents. On Windows, a file that is
 * read-only or open in another program is left to the system.
 * @throws the system error
 */
async function flushPath(path: string): Promise<void> {
  const open = () => patiently(() => openSync(path, TO_FLUSH))
  const file = IS_WINDOWS ? attempt(open) : open()
  try {
    if (file !== undefined) await flushFile(file)
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

/**
 * A process that claims or restores the file in the meantime flushes it itself.
 * @throws the system error
 */
export const flushUnlessGone = (path: string): Promise<void> => flushPath(path).catch(ignoreIfGone)

/** The same, holding up the event loop. */
export const flushUnlessGoneSync = (path: string): void =>
  ifThere(() => patiently(() => flushAndClose(openSync(path, TO_FLUSH))))

function flushAndClose(file: number): void {
  try {
    flushFileSync(file)
  } finally {
    closeSync(file)
  }
}

/**
 * The names are durable once the directory is flushed too.
 * @throws the system error
 */
export async function flushFiles(
  paths: readonly string[],
  flush: (path: string) => Promise<void> = flushPath,
): Promise<void> {
  for (let at = 0; at < paths.length; at += FLUSHES_AT_ONCE) {
    await Promise.all(paths.slice(at, at + FLUSHES_AT_ONCE).map(flush))
  }
}

/** Opened before anything changes, so that a directory that can't be opened is found early. */
export class OpenDirectory {
  readonly #path: string
  readonly #file: number | undefined

  /** @throws the system error */
  constructor(path: string) {
    this.#path = path
    this.#file = IS_WINDOWS ? undefined : openSync(path, READ_DIRECTORY)
  }

  /**
   * Makes the names in the directory durable. Renames and links are not durable before this (fsync(2): "calling
   * fsync() does not necessarily ensure that the entry in the directory has also reached disk").
   * @returns false if the file system does not support it: a power cut may then undo renames
   * @throws the system error; a power cut may then undo renames, too
   */
  flushSync(): boolean {
    return this.#file === undefined || this.#checked(flushFileSync(this.#file))
  }

  async flush(): Promise<boolean> {
    return this.#file === undefined || this.#checked(await flushFile(this.#file))
  }

  #checked(isFlushed: boolean): boolean {
    // XFS shuts itself down when its disk fails. It then forgets unwritten data and still reports a successful flush of a
    // directory, but nothing can be opened any more.
    const now = openSync(this.#path, READ_DIRECTORY)
    try {
      if (this.#file !== undefined && fstatSync(now).dev !== fstatSync(this.#file).dev)
        throw new Error(`another disk is at ${this.#path} now`)
    } finally {
      closeSync(now)
    }
    flushAboveOnFat(this.#path)
    return isFlushed
  }

  /**
   * Flushes files, and then the directory: both at once where one journal has them, which then writes once.
   * @returns as `flushSync`
   * @throws as `flushSync`
   */
  async flushWith(paths: readonly string[]): Promise<boolean> {
    const files = flushFiles(paths)
    if (!isOrdered(this.#path)) await files
    const [isFlushed] = await Promise.all([this.flush(), files])
    return isFlushed
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
  }
}

/**
 * @returns as `OpenDirectory.flushSync`
 * @throws as `OpenDirectory.flushSync`
 */
export async function flushDirectory(path: string): Promise<boolean> {
  const directory = new OpenDirectory(path)
  try {
    return await directory.flush()
  } finally {
    directory.close()
  }
}

/** The same, holding up the event loop. */
export function flushDirectorySync(path: string): boolean {
  const directory = new OpenDirectory(path)
  try {
    return directory.flushSync()
  } finally {
    directory.close()
  }
}

/** Does nothing if there is no such directory: the journal of a move may be closed by now. */
export const flushDirectoryIfThere = (path: string): void => void ifThere(() => flushDirectorySync(path))

/**
 * On FAT, Linux keeps the first names of a new directory with the changes of the directory above, until that one is
 * flushed (`fat_alloc_new_dir`). This user may not be able to open it.
 * @throws the system error of the flush
 */
function flushAboveOnFat(path: string): void {
  if (fileSystemOf(path) !== FAT) return
  const above = attempt(() => openSync(join(path, '..'), READ_DIRECTORY))
  if (above !== undefined) flushAndClose(above)
}

/** What Linux calls the type of FAT in statfs(2): MSDOS_SUPER_MAGIC. exFAT has another one. */
export const FAT = 0x4d44

/** ext4 and xfs: a power cut undoes only the last changes of names, whatever their directories. */
const ORDERED = [0xef53, 0x58465342]

/** These and btrfs, where a flush of one directory gets ahead of older changes in others. */
export const TESTED = [...ORDERED, 0x9123683e]

/** What Linux calls the type of FUSE in statfs(2), such as sshfs. */
const FUSE = 0x65735546

/** tmpfs and ramfs, which have no disk. */
const IN_MEMORY = [0x01021994, 0x858458f6]

/** The type of a file system in statfs(2). Only Linux tells. */
export const fileSystemOf = (path: string): number | undefined =>
  process.platform === 'linux' ? attempt(() => statfsSync(path).type) : undefined

const isOn = (path: string, types: readonly number[]) => types.includes(fileSystemOf(path) ?? 0)

/** Whether changes of names reach the disk in their order. */
export const isOrdered = (path: string): boolean => isOn(path, ORDERED)

/**
 * Whether power cuts were tested on the file system of a directory. Then a rename leaves one of its names, and the flush of
 * a new file brings its name.
 */
export const isTested = (path: string): boolean => isOn(path, TESTED)

export const isInMemory = (path: string): boolean => isOn(path, IN_MEMORY)

export const isOnFuse = (path: string): boolean => isOn(path, [FUSE])
