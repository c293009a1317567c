/**
 * A disk for tests in one process: a directory in memory, and a record of what a power cut would leave of it. It can
 * crash before any of its steps. A crash of the process leaves what was done; a power cut also undoes what was not
 * flushed, in the worst way POSIX allows: each directory keeps some first part of its changes since its last flush, an
 * unflushed file some first part of its bytes. Symbolic links are not modelled.
 */
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { memfs } from 'memfs'

/** Where everything is that lies on the disk. */
export const ROOT = '/disk'

export const { fs, vol } = memfs()

export class Crash extends Error {}

/** A file or a directory, whatever its names. */
interface Inode {
  content: Buffer
  flushed: Buffer
  /** What stands for its clusters: after a power cut, two names on FAT may lead to the same ones. */
  readonly clusters: object
  readonly names: Names | undefined
}

type Entries = Map<string, Inode>

/** The names in a directory: those that are flushed, and what has changed since. */
interface Names {
  flushed: Entries
  changes: ((entries: Entries) => void)[]
  now: Entries
}

const newNames = (): Names => ({ flushed: new Map(), changes: [], now: new Map() })
const newFile = (): Inode => ({
  content: Buffer.alloc(0),
  flushed: Buffer.alloc(0),
  clusters: {},
  names: undefined,
})
const newDirectory = (): Inode => ({ ...newFile(), names: newNames() })

let tree: Inode = newDirectory()
let hasLinks = true
let hasFatRules = false
let hasWholeFlush = false
let stepsLeft = Number.POSITIVE_INFINITY
let isDead = false
let steps = 0
const files = new Map<number, { inode: Inode; path: string }>()

/** What has happened, for those who want to know when something became durable. */
export const events: { step: string; path: string }[] = []

/**
 * Begins with an empty disk.
 * @param fat whether the disk has the rules of FAT: no links, a new name has nothing in it until the file is flushed
 *   again, which flushes the name too, and the removal of one name of a file takes the contents of any other
 * @param whole whether all of it can be flushed in one go
 */
export function format({ links = true, fat = false, whole = false } = {}): void {
  tree = newDirectory()
  hasWholeFlush = whole
  hasLinks = links && !fat
  hasFatRules = fat
  vol.reset()
  fs.mkdirSync(ROOT)
}

/** Whether the disk has hard links. */
export const canLink = () => hasLinks

/** Whether the disk has the rules of FAT. */
export const isFat = () => hasFatRules

/** From now on the process lives for that many steps. */
export function live(count = Number.POSITIVE_INFINITY): void {
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
}

/** Cuts the power: keeps of each list of `length` unflushed changes or bytes the first `choose(length)`. */
export function cutPower(choose: (length: number) => number): void {
  vol.reset()
  restore(ROOT, tree, choose)
}

function restore(path: string, inode: Inode, choose: (length: number) => number): void {
  const { names } = inode
  if (names === undefined) {
    const isFlushed = inode.content.equals(inode.flushed)
    inode.content = isFlushed ? inode.content : inode.content.subarray(0, choose(inode.content.length))
    inode.flushed = inode.content
    fs.writeFileSync(path, inode.content)
    return
  }
  fs.mkdirSync(path)
  for (const change of names.changes.slice(0, choose(names.changes.length))) change(names.flushed)
  names.changes = []
  names.now = new Map(names.flushed)
  for (const [name, child] of names.flushed) restore(join(path, name), child, choose)
}

/** One step of the process: all of it happens, or, from the crash on, nothing. */
export function step<T>(name: string, path: string, action: () => T): T {
  if (isDead || stepsLeft <= 0) {
    isDead = true
    throw new Crash(`crashed before ${name}`)
  }
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
  step('flush all', ROOT, () => flushTree(tree))
  return true
}

function flushTree(inode: Inode): void {
  inode.flushed = inode.content
  if (inode.names === undefined) return
  for (const child of inode.names.now.values()) flushTree(child)
  inode.names.flushed = new Map(inode.names.now)
  inode.names.changes = []
}

function inodeAt(path: string): Inode | undefined {
  if (!isOnDisk(path)) return undefined
  const below = relative(ROOT, resolve(path)).split(sep).filter(Boolean)
  return below.reduce<Inode | undefined>((inode, name) => inode?.names?.now.get(name), tree)
}

/** A change of the names in one directory: it happens now, and at a power cut it may be undone. */
function change(directory: string, action: (entries: Entries) => void): void {
  if (!isOnDisk(directory)) return
  const names = inodeAt(directory)?.names
  if (names === undefined) throw new Error(`there is no directory ${directory} on the disk`)
  action(names.now)
  names.changes.push(action)
}

/** Gives an inode a name, in place of what may have it. */
function put(path: string, inode: Inode): void {
  change(dirname(path), (entries) => entries.set(basename(path), inode))
}

/** What has been done to the real directory, in the record of it. */
export const record = {
  opened(path: string, flags: number | string, file: number): number {
    if (!isOnDisk(path)) return file
    let inode = inodeAt(path)
    if (inode === undefined) {
      inode = newFile()
      put(path, inode)
    } else if (typeof flags === 'string' && flags.startsWith('w')) inode.content = Buffer.alloc(0)
    files.set(file, { inode, path })
    return file
  },

  closed(file: number): void {
    files.delete(file)
  },

  /** @param at where in the file, at its end where it is left out */
  written(file: number, text: string | Buffer, at?: number | null): void {
    const inode = files.get(file)?.inode
    if (inode === undefined) return
    const bytes = Buffer.from(text)
    const from = at ?? inode.content.length
    const gap = Buffer.alloc(Math.max(0, from - inode.content.length))
    const rest = inode.content.subarray(from + bytes.length)
    inode.content = Buffer.concat([inode.content.subarray(0, from), gap, bytes, rest])
  },

  truncated(file: number, length: number): void {
    const inode = files.get(file)?.inode
    if (inode !== undefined) inode.content = inode.content.subarray(0, length)
  },

  flushed(file: number): void {
    const inode = files.get(file)?.inode
    if (inode === undefined) return
    inode.flushed = inode.content
    const { names } = inode
    if (names === undefined) {
      if (hasFatRules) flushEntry(inode)
      return
    }
    names.flushed = new Map(names.now)
    names.changes = []
  },

  made(directory: string): void {
    put(directory, newDirectory())
  },

  linked(from: string, to: string): void {
    put(to, known(from))
  },

  removed(path: string): void {
    const inode = inodeAt(path)
    change(dirname(path), (entries) => entries.delete(basename(path)))
    if (hasFatRules && inode !== undefined) freeClusters(inode.clusters)
  },

  /** From one directory to another are two changes: a power cut may undo either. */
  renamed(from: string, to: string): void {
    const inode = hasFatRules ? unflushed(known(from)) : known(from)
    if (dirname(from) !== dirname(to)) {
      put(to, inode)
      change(dirname(from), (entries) => entries.delete(basename(from)))
      return
    }
    change(dirname(from), (entries) => {
      entries.delete(basename(from))
      entries.set(basename(to), inode)
    })
  },
}

/** Whatever other name leads to them has nothing of its own any more. */
function freeClusters(clusters: object, path = ROOT, inode = tree): void {
  if (inode.names !== undefined) {
    for (const [name, child] of inode.names.now) freeClusters(clusters, join(path, name), child)
  } else if (inode.clusters === clusters) {
    inode.content = Buffer.alloc(inode.content.length)
    inode.flushed = inode.content
    fs.writeFileSync(path, inode.content)
  }
}

/** On FAT what is known of a file is in its directory: the flush of the one writes the name in the other. */
function flushEntry(inode: Inode, directory = tree): void {
  for (const [name, child] of directory.names?.now ?? []) {
    if (child === inode) directory.names?.flushed.set(name, inode)
    else flushEntry(inode, child)
  }
}

function known(path: string): Inode {
  const inode = inodeAt(path)
  if (inode === undefined) throw new Error(`there is no ${path} on the disk`)
  return inode
}

/** The same file under a name that has nothing in it yet, for those who have it open too. */
function unflushed(inode: Inode): Inode {
  const same = { ...inode, flushed: Buffer.alloc(0) }
  for (const open of files.values()) if (open.inode === inode) open.inode = same
  return same
}

/** The path of an open file. */
export const pathOf = (file: number) => files.get(file)?.path ?? ''

/** Whether a file descriptor is open on the disk. */
export const isOpen = (file: number) => files.has(file)
