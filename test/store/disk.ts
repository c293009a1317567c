/**
 * A disk for tests in one process: `node:fs`, on a real directory, that can crash before any of its steps. A crash of
 * the process leaves what was done; a power cut also undoes what was not flushed, in the worst way POSIX allows: each
 * directory keeps some first part of its changes since its last flush, an unflushed file some first part of its bytes.
 */
import type { FileHandle } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

// The real ones: tests put what is below in their place.
const fs = process.getBuiltinModule('node:fs')
const real = process.getBuiltinModule('node:fs/promises')

export class Crash extends Error {}

/** A file or a directory, whatever its names. */
interface Inode {
  content: Buffer
  flushed: Buffer
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
const newFile = (): Inode => ({ content: Buffer.alloc(0), flushed: Buffer.alloc(0), names: undefined })
const newDirectory = (): Inode => ({ ...newFile(), names: newNames() })

let root = ''
let tree: Inode = newDirectory()
let stepsLeft = Number.POSITIVE_INFINITY
let isDead = false
let steps = 0
const files = new Map<number, { inode: Inode; path: string }>()

/** What has happened, for those who want to know when something became durable. */
export const events: { step: string; path: string }[] = []

/** Begins with an empty directory. */
export function format(path: string): void {
  root = resolve(path)
  tree = newDirectory()
  fs.rmSync(root, { recursive: true, force: true })
  fs.mkdirSync(root)
}

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
  fs.rmSync(root, { recursive: true })
  restore(root, tree, choose)
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
  for (const [name, child] of names.flushed) restore(`${path}/${name}`, child, choose)
}

/** One step of the process: all of it happens, or, from the crash on, nothing. */
function step<T>(name: string, path: string, action: () => T): T {
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

function alive<T>(action: () => T): T {
  if (isDead) throw new Crash('it has crashed')
  return action()
}

function inodeAt(path: string): Inode | undefined {
  const below = resolve(path).slice(root.length).split('/').filter(Boolean)
  return below.reduce<Inode | undefined>((inode, name) => inode?.names?.now.get(name), tree)
}

function change(path: string, action: (entries: Entries, name: string) => void): void {
  const names = inodeAt(dirname(resolve(path)))?.names
  if (names === undefined) throw new Error(`no directory for ${path}`)
  const name = resolve(path).slice(dirname(resolve(path)).length + 1)
  action(names.now, name)
  names.changes.push((entries) => action(entries, name))
}

function opened(path: string, flags: number | string, file: number): number {
  let inode = inodeAt(path)
  if (inode === undefined) {
    const made = newFile()
    change(path, (entries, name) => entries.set(name, made))
    inode = made
  } else if (typeof flags === 'string' && flags.startsWith('w')) inode.content = Buffer.alloc(0)
  files.set(file, { inode, path })
  return file
}

function flushed(file: number): string {
  const { inode, path } = files.get(file) ?? { inode: newFile(), path: '' }
  inode.flushed = inode.content
  const { names } = inode
  if (names !== undefined) {
    names.flushed = new Map(names.now)
    names.changes = []
  }
  return path
}

function overwritten(file: number, text: string | Buffer, at?: number | null): void {
  const inode = files.get(file)?.inode ?? newFile()
  const bytes = Buffer.from(text)
  const from = at ?? inode.content.length
  const before = Buffer.concat([
    inode.content.subarray(0, from),
    Buffer.alloc(Math.max(0, from - inode.content.length)),
  ])
  inode.content = Buffer.concat([before, bytes, inode.content.subarray(from + bytes.length)])
}

const moved = (from: string, to: string) => {
  const inode = inodeAt(from)
  if (inode === undefined) throw new Error(`${from} is not known`)
  if (dirname(from) !== dirname(to)) throw new Error('no rename leads from one directory to another')
  const newName = to.slice(dirname(to).length + 1)
  change(from, (entries, name) => entries.delete(name) && entries.set(newName, inode))
}

const isWriting = (flags: number | string) => typeof flags === 'string' && flags !== 'r'

const openSync = (path: string, flags: number | string, mode?: number) => {
  const open = () => opened(path, flags, fs.openSync(path, flags, mode))
  return isWriting(flags) ? step('open', path, open) : alive(open)
}

const closeSync = (file: number) => {
  files.delete(file)
  fs.closeSync(file)
}

const fsyncSync = (file: number) => step('flush', files.get(file)?.path ?? '', () => flushed(file))

const writeSync = (file: number, text: string | Buffer, at?: number | null) =>
  step('write', files.get(file)?.path ?? '', () => {
    const written = fs.writeSync(file, text as string, at)
    overwritten(file, text, at)
    return written
  })

const unlinkSync = (path: string) =>
  step('unlink', path, () => {
    fs.unlinkSync(path)
    change(path, (entries, name) => entries.delete(name))
  })

const mkdirSync = (path: string, options?: { recursive?: boolean; mode?: number }) =>
  fs.existsSync(path) && options?.recursive
    ? alive(() => undefined)
    : step('mkdir', path, () => {
        fs.mkdirSync(path, { mode: options?.mode })
        const made = newDirectory()
        change(path, (entries, name) => entries.set(name, made))
        return path
      })

const rmdirSync = (path: string) =>
  step('rmdir', path, () => {
    fs.rmdirSync(path)
    change(path, (entries, name) => entries.delete(name))
  })

/** Stands for `node:fs`. */
export const diskSync = {
  ...fs,
  openSync,
  closeSync,
  fsyncSync,
  writeSync,
  mkdirSync,
  rmdirSync,
  unlinkSync,
  fsync(file: number, done: (error: unknown) => void) {
    try {
      fsyncSync(file)
      setImmediate(done, null)
    } catch (error) {
      setImmediate(done, error)
    }
  },
  writeFileSync(path: string | number, text: string, options: { flag?: string; mode?: number } = {}) {
    if (typeof path === 'number') {
      writeSync(path, text)
      return
    }
    const file = openSync(path, options.flag ?? 'w', options.mode)
    try {
      writeSync(file, text)
    } finally {
      closeSync(file)
    }
  },
  renameSync: (from: string, to: string) =>
    step('rename', to, () => {
      fs.renameSync(from, to)
      moved(from, to)
    }),
  linkSync: (from: string, to: string) =>
    step('link', to, () => {
      fs.linkSync(from, to)
      const inode = inodeAt(from) ?? newFile()
      change(to, (entries, name) => entries.set(name, inode))
    }),
  rmSync(path: string, _options?: object) {
    if (alive(() => fs.existsSync(path))) unlinkSync(path)
  },
}

/** Runs what can't be interrupted half-way, as one that may be waited for. */
const later = async <T>(action: () => T): Promise<T> => {
  await new Promise(setImmediate)
  return action()
}

/** Stands for `node:fs/promises`. */
export const diskPromises = {
  ...real,
  mkdir: (path: string, options?: object) => later(() => mkdirSync(path, options)),
  unlink: (path: string) => later(() => unlinkSync(path)),
  rename: (from: string, to: string) => later(() => diskSync.renameSync(from, to)),
  readFile: (path: string, encoding: 'utf8') => later(() => alive(() => fs.readFileSync(path, encoding))),
  readdir: (path: string) => later(() => alive(() => fs.readdirSync(path))),
  rmdir: (path: string) => later(() => rmdirSync(path)),
  async open(path: string, flags: number | string, mode?: number): Promise<FileHandle> {
    const file = await later(() => openSync(path, flags, mode))
    const handle = {
      writeFile: (text: string) => later(() => void writeSync(file, text)),
      sync: () => later(() => void fsyncSync(file)),
      close: () => later(() => void (files.has(file) && closeSync(file))),
    }
    return handle as FileHandle
  },
}
