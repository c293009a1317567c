/**
 * A disk in memory that can be copied: the names and files of now, and what a power cut would leave of them. It has the
 * clock of the schedule, and notes what each step touches.
 */
import { basename, dirname } from 'node:path'
import {
  type Actor,
  apply,
  type Change,
  constants,
  copyOf,
  EMPTY,
  flagsOf,
  flushEntry,
  freeClusters,
  type Inode,
  type Names,
  type OpenFile,
  pathsBelow,
  settle,
  stepsIn,
  systemError,
  writeUntil,
} from './inode.ts'

/** What one kind of disk does otherwise than the others. */
export interface Kind {
  readonly name: string
  readonly platform: NodeJS.Platform
  readonly hasFatRules: boolean
  /** As ext4 and xfs: changes of names reach the disk in their order. */
  readonly hasJournal: boolean
  /** As btrfs: the flush of a file writes its name, that of a directory only its own names. */
  readonly bringsNames?: boolean
  /** Whether a flush of all of it in one go succeeds; undefined where none is tried. */
  readonly hasWholeFlush?: boolean
  readonly hasNoLinks?: boolean
  /** How far the clock of the files is ahead of the clock of the calls. */
  readonly skewMs: number
  /** Of two calls that rename or remove the same file at about the same time, both succeed. */
  readonly letsTwoWin?: boolean
  /** A file that was created exclusively has the time of the verifier, until the client sets it right after (NFS). */
  readonly hasVerifiers?: boolean
  /** A scanner holds each new file for a while (Windows). */
  readonly hasScanner?: boolean
  /** Closing a file that another call has removed fails (NFS). */
  readonly goesStale?: boolean
}

const PLAIN = { platform: 'linux', hasFatRules: false, hasJournal: true, skewMs: 0 } as const

const ALL: Kind[] = [
  { ...PLAIN, name: 'links' },
  { ...PLAIN, name: 'unordered', hasJournal: false, hasWholeFlush: false },
  { ...PLAIN, name: 'whole', hasJournal: false, hasWholeFlush: true },
  { ...PLAIN, name: 'btrfs', hasJournal: false, bringsNames: true },
  { ...PLAIN, name: 'nolinks', hasJournal: false, hasNoLinks: true },
  { ...PLAIN, name: 'erange', hasNoLinks: true },
  { ...PLAIN, name: 'fat', hasNoLinks: true, hasFatRules: true, hasJournal: false },
  { ...PLAIN, name: 'two-win', letsTwoWin: true },
  { ...PLAIN, name: 'behind', skewMs: -90_000 },
  { ...PLAIN, name: 'ahead', skewMs: 90_000 },
  { ...PLAIN, name: 'verifier', hasVerifiers: true },
  { ...PLAIN, name: 'held', platform: 'win32', hasScanner: true },
  { ...PLAIN, name: 'estale', goesStale: true },
]

export const KINDS: ReadonlyMap<string, Kind> = new Map(ALL.map((kind) => [kind.name, kind]))

type Rules = Partial<Pick<Kind, 'hasFatRules' | 'hasJournal' | 'bringsNames'>>

export class Disk {
  readonly rules: Rules
  #steps = 0
  /** Keys of the names and contents that were read (`<`) or changed (`>`) since they were last taken away. */
  touched: string[] = []
  actor: Actor = { call: '', points: 0, now: 0 }
  readonly files = new Map<number, OpenFile>()
  #inodes = 1
  #descriptors = 10
  #tree: Inode

  constructor(rules: Rules = {}) {
    this.rules = rules
    this.#tree = this.#create(true, 0o700)
  }

  #create(isDirectory: boolean, mode: number): Inode {
    const id = this.#inodes++
    return {
      id,
      content: EMPTY,
      flushed: EMPTY,
      mtimeMs: this.actor.now,
      mode,
      clusters: id,
      names: isDirectory ? { flushed: new Map(), changes: [], now: new Map() } : undefined,
      creator: this.actor.call,
      createdAt: this.actor.points,
    }
  }

  /** A copy with nothing open. */
  copy(): Disk {
    const same = new Disk(this.rules)
    same.#steps = this.#steps
    same.#inodes = this.#inodes
    same.#tree = copyOf(this.#tree)
    return same
  }

  /** The inode at a path. */
  at(path: string): Inode | undefined {
    let inode: Inode | undefined = this.#tree
    for (const name of path.split('/').filter(Boolean)) inode = inode?.names?.now.get(name)
    return inode
  }

  /** Writes a file, and flushes it, but not its name. */
  put(path: string, text: string | Buffer): void {
    const file = this.open(path, 'w', 0o600)
    this.write(file, Buffer.from(text), null)
    this.flush(file)
    this.close(file)
  }

  /** The names in a directory; none where there is none. */
  namesOf(path: string): string[] {
    return [...(this.at(path)?.names?.now.keys() ?? [])]
  }

  /** @throws ENOENT */
  find(path: string, syscall: string): Inode {
    this.touched.push(`<${path}`)
    const inode = this.at(path)
    if (inode === undefined) throw systemError('ENOENT', syscall, path)
    return inode
  }

  #namesIn(directory: string, syscall: string): Names {
    const names = this.at(directory)?.names
    if (names === undefined) throw systemError('ENOENT', syscall, directory)
    return names
  }

  /** In one go, in the directory of the path. */
  #change(path: string, syscall: string, inode: Inode | undefined, ...more: Change): void {
    const directory = dirname(path)
    const change: Change = [[basename(path), inode], ...more]
    const names = this.#namesIn(directory, syscall)
    for (const [name] of change) this.touched.push(`>${directory}/${name}`)
    this.touched.push(`>${directory}/`)
    apply(change, names.now)
    names.changes.push({ at: ++this.#steps, change })
  }

  open(path: string, flags: number | string, mode = 0o666): number {
    const bits = flagsOf(flags)
    this.touched.push(`<${path}`)
    let inode = this.at(path)
    if (inode === undefined) {
      if ((bits & constants.O_CREAT) === 0) throw systemError('ENOENT', 'open', path)
      this.#namesIn(dirname(path), 'open')
      inode = this.#create(false, mode)
      this.#change(path, 'open', inode)
    } else {
      if (bits & constants.O_EXCL) throw systemError('EEXIST', 'open', path)
      if (inode.names !== undefined && bits & (constants.O_WRONLY | constants.O_RDWR))
        throw systemError('EISDIR', 'open', path)
      if (bits & constants.O_TRUNC) this.#setContent(inode, EMPTY)
    }
    const file = this.#descriptors++
    this.files.set(file, { inode, path, place: 0, appends: (bits & constants.O_APPEND) !== 0 })
    return file
  }

  opened(file: number): OpenFile {
    const open = this.files.get(file)
    if (open === undefined) throw systemError('EBADF', 'descriptor', String(file))
    return open
  }

  close(file: number): void {
    this.opened(file)
    this.files.delete(file)
  }

  /** @param at where in the file; at its place, which moves on, where it is null */
  read(file: number, length: number, at: number | null): Buffer {
    const open = this.opened(file)
    if (open.inode.names !== undefined) throw systemError('EISDIR', 'read', open.path)
    this.touched.push(`<#${open.inode.id}`)
    const from = at ?? open.place
    const bytes = Buffer.from(open.inode.content.subarray(from, from + length))
    if (at === null) open.place += bytes.length
    return bytes
  }

  write(file: number, bytes: Buffer, at: number | null): number {
    const open = this.opened(file)
    const { content } = open.inode
    const from = open.appends ? content.length : (at ?? open.place)
    const gap = Buffer.alloc(Math.max(0, from - content.length))
    const rest = content.subarray(from + bytes.length)
    this.#setContent(open.inode, Buffer.concat([content.subarray(0, from), gap, bytes, rest]))
    if (at === null) open.place = from + bytes.length
    return bytes.length
  }

  truncate(file: number, length: number): void {
    const { inode } = this.opened(file)
    const more = Buffer.alloc(Math.max(0, length - inode.content.length))
    this.#setContent(inode, Buffer.concat([inode.content.subarray(0, length), more]))
  }

  #setContent(inode: Inode, content: Buffer): void {
    this.touched.push(`>#${inode.id}`)
    inode.content = content
    inode.mtimeMs = this.actor.now
  }

  flush(file: number): void {
    const { inode, path } = this.opened(file)
    inode.flushed = inode.content
    const { names } = inode
    if (this.rules.hasJournal) this.#writeJournal(path, inode)
    else if (names !== undefined) {
      names.flushed = new Map(names.now)
      names.changes = []
    } else if (this.rules.hasFatRules || this.rules.bringsNames) flushEntry(inode, this.#tree)
  }

  /** Up to the last change of the file's name, or of a name in the directory. */
  #writeJournal(path: string, inode: Inode): void {
    const root = this.at(path.slice(0, path.indexOf('/', 1))) ?? this.#tree
    const steps = stepsIn(root).filter(
      (step) => inode.names?.changes.includes(step) || step.change.some(([, each]) => each === inode),
    )
    const last = steps.at(-1)
    if (last !== undefined) writeUntil(root, last.at)
  }

  list(path: string, syscall: string): string[] {
    this.touched.push(`<${path}/`)
    const { names } = this.find(path, syscall)
    if (names === undefined) throw systemError('ENOTDIR', syscall, path)
    return [...names.now.keys()]
  }

  makeDirectory(path: string, mode: number): void {
    this.touched.push(`<${path}`)
    if (this.at(path) !== undefined) throw systemError('EEXIST', 'mkdir', path)
    this.#change(path, 'mkdir', this.#create(true, mode))
  }

  removeDirectory(path: string): void {
    this.touched.push(`<${path}/`)
    const { names } = this.find(path, 'rmdir')
    if (names === undefined) throw systemError('ENOTDIR', 'rmdir', path)
    if (names.now.size > 0) throw systemError('ENOTEMPTY', 'rmdir', path)
    this.#change(path, 'rmdir', undefined)
  }

  link(from: string, to: string): void {
    const inode = this.find(from, 'link')
    this.touched.push(`<${to}`)
    if (this.at(to) !== undefined) throw systemError('EEXIST', 'link', to)
    this.#change(to, 'link', inode)
  }

  unlink(path: string): void {
    const inode = this.find(path, 'unlink')
    if (inode.names !== undefined) throw systemError('EPERM', 'unlink', path)
    this.#change(path, 'unlink', undefined)
    if (this.rules.hasFatRules) freeClusters(inode.clusters, this.#tree)
  }

  /** From one directory to another are two changes: a power cut may undo either. */
  rename(from: string, to: string): void {
    const found = this.find(from, 'rename')
    if (this.at(to) === found && from !== to) return
    this.#checkPlace(found, from, to)
    const isFile = found.names === undefined
    const inode = this.rules.hasFatRules && isFile ? this.#unflushed(found) : found
    if (!isFile) this.touched.push(...[from, to].flatMap((path) => pathsBelow(path, found)))
    this.#namesIn(dirname(to), 'rename')
    if (dirname(from) === dirname(to)) this.#change(from, 'rename', undefined, [basename(to), inode])
    else {
      this.#change(to, 'rename', inode)
      this.#change(from, 'rename', undefined)
    }
  }

  /** A directory replaces only an empty one, a file only a file. */
  #checkPlace({ names }: Inode, from: string, to: string): void {
    this.touched.push(`<${to}`)
    const there = this.at(to)
    if (there === undefined) return
    if (names === undefined && there.names !== undefined) throw systemError('EISDIR', 'rename', from)
    if (names === undefined) return
    this.touched.push(`<${to}/`)
    if (there.names === undefined) throw systemError('ENOTDIR', 'rename', from)
    if (there.names.now.size > 0) throw systemError('ENOTEMPTY', 'rename', from)
  }

  /** On FAT, the same file under a name that has nothing in it yet. */
  #unflushed(inode: Inode): Inode {
    const same = { ...inode, flushed: EMPTY }
    for (const [file, open] of this.files)
      if (open.inode === inode) this.files.set(file, { ...open, inode: same })
    return same
  }

  /** What is below a directory loses all that is not flushed. */
  lose(path: string): void {
    this.files.clear()
    settle(this.find(path, 'lose'), () => 0, new Set())
  }

  /** Writes all that is not flushed. */
  flushAll(): void {
    settle(this.#tree, (length) => length, new Set())
  }

  /** Cuts the power: keeps of each list of `length` unflushed changes or bytes the first `choose(length)`. */
  cutPower(choose: (length: number) => number): void {
    this.files.clear()
    if (this.rules.hasJournal)
      for (const root of this.#tree.names?.now.values() ?? []) {
        const steps = stepsIn(root)
        writeUntil(root, steps[choose(steps.length) - 1]?.at ?? 0, true)
      }
    settle(this.#tree, choose, new Set())
  }
}
