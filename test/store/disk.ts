/**
 * A disk for tests in one process: a directory in memory, and a record of what a power cut would leave of it. It can
 * crash before any of its steps. A crash of the process leaves what was done; a power cut also undoes what was not
 * flushed, in the worst way POSIX allows: each directory keeps some first part of its changes since its last flush, an
 * unflushed file some first part of its bytes. Symbolic links are not modelled.
 */
import { join, relative, resolve, sep } from 'node:path'
import { memfs } from 'memfs'
import { Disk } from '../../scripts/torture/schedule/disk.ts'
import { type Inode, settle } from '../../scripts/torture/schedule/inode.ts'

/** Where everything is that lies on the disk. */
export const ROOT = '/disk'

export const { fs, vol } = memfs()

export class Crash extends Error {}

/** Of each error on the disk, of which most are expected: more would take a seventh of the time. */
const STACK = 3
const usualStack = Error.stackTraceLimit

let disk = new Disk()
let hasLinks = true
let hasWholeFlush = false
let stepsLeft = Number.POSITIVE_INFINITY
let isDead = false
let steps = 0
let watch: () => void = () => {}
/** The descriptors of the record, by those of the directory in memory. */
const files = new Map<number, number>()

/** What has happened, for those who want to know when something became durable. */
export const events: { step: string; path: string }[] = []

/**
 * Begins with an empty disk.
 * @param fat whether the disk has the rules of FAT: no links, a new name has nothing in it until the file is flushed
 *   again, which flushes the name too, and the removal of one name of a file takes the contents of any other
 * @param whole whether all of it can be flushed in one go
 * @param journal whether changes of names reach the disk in their order, whatever their directories
 */
export function format({ links = true, fat = false, whole = false, journal = false } = {}): void {
  disk = new Disk(fat, journal)
  disk.makeDirectory(ROOT, 0o700)
  const top = disk.open('/', 'r')
  disk.flush(top)
  disk.close(top)
  hasWholeFlush = whole
  hasLinks = links && !fat
  show()
}

/** Whether the disk has hard links. */
export const canLink = () => hasLinks

/** What Linux calls the type of the file system: FAT, ext4, or none that the program knows. */
export const typeOfDisk = () => (disk.hasFatRules ? 0x4d44 : disk.hasJournal ? 0xef53 : 1)

/** From now on the process lives for that many steps. */
export function live(count = Number.POSITIVE_INFINITY): void {
  Error.stackTraceLimit = STACK
  stepsLeft = count
  isDead = false
  steps = 0
  events.length = 0
}

/** How many steps were made since `live`, and whether the crash has come. */
export const lived = () => ({ steps, isDead })

/** Closes what a crash has left open. */
export function bury(): void {
  for (const file of files.keys()) fs.closeSync(file)
  files.clear()
  isDead = false
  stepsLeft = Number.POSITIVE_INFINITY
  Error.stackTraceLimit = usualStack
}

/** Does something, and looks before each of its steps. */
export async function watched<T>(look: () => void, action: () => Promise<T>): Promise<T> {
  watch = look
  try {
    return await action()
  } finally {
    watch = () => {}
  }
}

/** The disk as it is now, with all that is not flushed. */
export const saved = (): Disk => disk.copy()

/** Puts a disk back that was saved before. */
export function load(other: Disk): void {
  disk = other.copy()
  show()
}

/** All names and contents, as a text that is the same for disks that look the same. */
export const image = () => disk.image(ROOT, 0)

/** Cuts the power: keeps of each list of `length` unflushed changes or bytes the first `choose(length)`. */
export function cutPower(choose: (length: number) => number): void {
  if (disk.hasJournal) disk.cutPower(choose)
  disk.files.clear()
  settle(disk.find(ROOT, 'cut'), choose, new Set())
  show()
}

/** Makes the directory in memory what the record says. */
function show(): void {
  vol.reset()
  const shown = new Map<Inode, string>()
  const visit = (path: string, inode: Inode): void => {
    const same = shown.get(inode)
    shown.set(inode, path)
    if (same !== undefined) fs.linkSync(same, path)
    // What is loaded has other numbers here: a directory with that file would count as a copy.
    else if (path.endsWith('/.identity')) return
    else if (inode.names === undefined) fs.writeFileSync(path, inode.content)
    else {
      fs.mkdirSync(path)
      for (const [name, child] of inode.names.now) visit(join(path, name), child)
    }
  }
  visit(ROOT, disk.find(ROOT, 'show'))
}

/** One step of the process: all of it happens, or, from the crash on, nothing. */
export function step<T>(name: string, path: string, action: () => T): T {
  if (isDead || stepsLeft <= 0) {
    isDead = true
    throw new Crash(`crashed before ${name}`)
  }
  watch()
  stepsLeft--
  steps++
  const result = action()
  events.push({ step: name, path })
  return result
}

export function alive<T>(action: () => T): T {
  if (isDead) throw new Crash('it has crashed')
  return action()
}

/** Whether a path leads to something on the disk. */
export function isOnDisk(path: string): boolean {
  const way = relative(ROOT, resolve(path))
  return way !== '..' && !way.startsWith(`..${sep}`)
}

/** Flushes all of the disk. @returns false if it can't */
export function flushAll(): boolean {
  if (!hasWholeFlush) return false
  step('flush all', ROOT, () => flushTree(disk.find(ROOT, 'flush all')))
  return true
}

function flushTree(inode: Inode): void {
  inode.flushed = inode.content
  if (inode.names === undefined) return
  for (const child of inode.names.now.values()) flushTree(child)
  inode.names.flushed = new Map(inode.names.now)
  inode.names.changes = []
}

/** What has been done to the directory in memory, in the record of it. */
export const record = {
  opened(path: string, flags: number | string, file: number): number {
    if (isOnDisk(path)) files.set(file, disk.open(resolve(path), flags))
    return file
  },

  closed(file: number): void {
    const known = files.get(file)
    if (known !== undefined) disk.close(known)
    files.delete(file)
  },

  /** @param at where in the file; after what was written last where it is left out */
  written(file: number, text: string | Buffer, at: number | null = null): void {
    const known = files.get(file)
    if (known !== undefined) disk.write(known, Buffer.from(text), at)
  },

  truncated(file: number, length: number): void {
    const known = files.get(file)
    if (known !== undefined) disk.truncate(known, length)
  },

  flushed(file: number): void {
    const known = files.get(file)
    if (known !== undefined) disk.flush(known)
  },

  made(path: string): void {
    if (isOnDisk(path)) disk.makeDirectory(resolve(path), 0o700)
  },

  linked(from: string, to: string): void {
    disk.link(resolve(from), resolve(to))
  },

  removed(path: string): void {
    if (!isOnDisk(path)) return
    if (disk.at(resolve(path))?.names !== undefined) disk.removeDirectory(resolve(path))
    else disk.unlink(resolve(path))
    if (disk.hasFatRules) showContents(ROOT, disk.find(ROOT, 'show'))
  },

  renamed(from: string, to: string): void {
    if (isOnDisk(from)) disk.rename(resolve(from), resolve(to))
  },
}

/** On FAT, the removal of a name can change files of other names. */
function showContents(path: string, inode: Inode): void {
  for (const [name, child] of inode.names?.now ?? []) showContents(join(path, name), child)
  if (inode.names === undefined && !inode.content.equals(fs.readFileSync(path) as Buffer))
    fs.writeFileSync(path, inode.content)
}

/** The path of an open file. */
export const pathOf = (file: number) => {
  const known = files.get(file)
  return known === undefined ? '' : disk.opened(known).path
}

/** Whether a file descriptor is open on the disk. */
export const isOpen = (file: number) => files.has(file)
