/** What stands for `node:fs` and `node:fs/promises` in tests on the disk of disk.ts. */
import type { FileHandle } from 'node:fs/promises'
import { alive, canLink, fs, isOnDisk, isOpen, pathOf, record, step, typeOfDisk } from './disk.ts'

const isWriting = (flags: number | string) => typeof flags === 'string' && flags !== 'r'

const openSync = (path: string, flags: number | string, mode?: number) => {
  const open = () => record.opened(path, flags, fs.openSync(path, flags, mode))
  return isWriting(flags) ? step('open', path, open) : alive(open)
}

const closeSync = (file: number) => {
  record.closed(file)
  fs.closeSync(file)
}

const fsyncSync = (file: number) => step('flush', pathOf(file), () => record.flushed(file))

const writeSync = (file: number, text: string | Buffer, at?: number | null) =>
  step('write', pathOf(file), () => {
    const written = fs.writeSync(file, text as string, at)
    record.written(file, text, at)
    return written
  })

const ftruncateSync = (file: number, length = 0) =>
  step('truncate', pathOf(file), () => {
    fs.ftruncateSync(file, length)
    record.truncated(file, length)
  })

const unlinkSync = (path: string) =>
  step('unlink', path, () => {
    fs.unlinkSync(path)
    record.removed(path)
  })

const mkdirSync = (path: string, options?: { recursive?: boolean; mode?: number }) =>
  fs.existsSync(path) && options?.recursive
    ? alive(() => undefined)
    : step('mkdir', path, () => {
        fs.mkdirSync(path, options?.mode)
        record.made(path)
        return path
      })

const rmdirSync = (path: string) =>
  step('rmdir', path, () => {
    fs.rmdirSync(path)
    record.removed(path)
  })

const writeFileSync = (
  path: string | number,
  text: string | Buffer,
  options: { flag?: string; mode?: number } = {},
) => {
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
}

const renameSync = (from: string, to: string) =>
  step('rename', to, () => {
    // The record refuses what a disk refuses: that in memory replaces a directory that is not empty.
    record.renamed(from, to)
    fs.renameSync(from, to)
  })

const linkSync = (from: string, to: string) =>
  step('link', to, () => {
    if (!canLink()) throw Object.assign(new Error('EPERM: no hard links here'), { code: 'EPERM' })
    fs.linkSync(from, to)
    record.linked(from, to)
  })

/** What changes a disk and is not modelled: a test must not take it for something that changes nothing. */
const NOT_MODELLED = ['appendFile', 'cp', 'symlink', 'truncate', 'writev']

/** These functions, refused on the disk and as they are elsewhere. */
function guarded(names: readonly string[], all: object): object {
  const functions = all as Record<string, (...args: unknown[]) => unknown>
  const isHere = (path: unknown) => (typeof path === 'number' ? isOpen(path) : isOnDisk(String(path)))
  return Object.fromEntries(
    names.map((name) => [
      name,
      (...args: unknown[]) => {
        if (args.slice(0, 2).some(isHere)) throw new Error(`the disk of the tests has no ${name}`)
        return functions[name]?.(...args)
      },
    ]),
  )
}

/** Stands for `node:fs`. */
export const diskSync = {
  ...fs,
  ...guarded(
    NOT_MODELLED.map((name) => `${name}Sync`),
    fs,
  ),
  openSync,
  closeSync,
  fsyncSync,
  writeSync,
  ftruncateSync,
  mkdirSync,
  rmdirSync,
  unlinkSync,
  writeFileSync,
  renameSync,
  linkSync,
  /** A directory that was loaded has other numbers and times in memory, and is the same one. */
  fstatSync: (file: number, options?: { bigint: boolean }) =>
    options?.bigint
      ? Object.assign(fs.fstatSync(file, { bigint: true }), { ino: 0n, birthtimeNs: 0n })
      : fs.fstatSync(file),
  statfsSync: (path: string) => ({ ...fs.statfsSync(path), type: typeOfDisk() }),
  copyFileSync: (from: string, to: string) => writeFileSync(to, fs.readFileSync(from)),
  fsync(file: number, done: (error: unknown) => void) {
    try {
      fsyncSync(file)
      setImmediate(done, null)
    } catch (error) {
      setImmediate(done, error)
    }
  },
  rmSync(path: string, options?: object) {
    if (!isOnDisk(path)) fs.rmSync(path, options)
    else if (alive(() => fs.existsSync(path))) unlinkSync(path)
  },
}

/** Runs what can't be interrupted half-way, as one that may be waited for. */
const later = async <T>(action: () => T): Promise<T> => {
  await new Promise(setImmediate)
  return action()
}

/** Stands for `node:fs/promises`. */
export const diskPromises = {
  ...fs.promises,
  ...guarded(NOT_MODELLED, fs.promises),
  mkdir: (path: string, options?: object) => later(() => mkdirSync(path, options)),
  unlink: (path: string) => later(() => unlinkSync(path)),
  rename: (from: string, to: string) => later(() => renameSync(from, to)),
  copyFile: (from: string, to: string) => later(() => diskSync.copyFileSync(from, to)),
  readFile: (path: string, encoding: 'utf8') => later(() => alive(() => fs.readFileSync(path, encoding))),
  readdir: (path: string) => later(() => alive(() => fs.readdirSync(path))),
  rmdir: (path: string) => later(() => rmdirSync(path)),
  async open(path: string, flags: number | string, mode?: number): Promise<FileHandle> {
    const file = await later(() => openSync(path, flags, mode))
    const handle = {
      writeFile: (text: string) => later(() => void writeSync(file, text)),
      sync: () => later(() => void fsyncSync(file)),
      close: () => later(() => void (isOpen(file) && closeSync(file))),
    }
    return handle as FileHandle
  },
}
