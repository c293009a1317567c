/**
 * What stands for the functions of `node:fs` in the calls of a schedule: each is a step on its disk. look.ts says between which of them others can go on.
 */
import * as real from 'node:fs'
import { execution, HarnessError, isPause, step } from './engine.ts'
import { systemError } from './inode.ts'
import type { Kind } from './kinds.ts'
import { at, on, plain, Status } from './look.ts'
import { LOTS } from './places.ts'
import { checkScanner, wonToo } from './rules.ts'

/** A file descriptor of standard input, output or error. */
const isStandard = (file: unknown) => typeof file === 'number' && file <= 2

function statSync(name: unknown, options?: { throwIfNoEntry?: boolean }): Status | undefined {
  const path = plain(name)
  return at('stat', path, (run) => {
    const { disk } = run.world
    if (options?.throwIfNoEntry !== false) return new Status(run, disk.find(path, 'lstat'))
    disk.touched.push(`<${path}`)
    const inode = disk.at(path)
    return inode && new Status(run, inode)
  })
}

/** Whatever the disk says, it never throws. */
function existsSync(path: unknown): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    if (isPause(error)) throw error
    return false
  }
}

const fstatSync = (file: number) =>
  on('fstat', file, false, (run) => new Status(run, run.world.disk.opened(file).inode))

const { O_RDWR, O_DIRECTORY } = real.constants

function nameOf(flags: number | string): string {
  if (typeof flags === 'string') return flags
  if (flags & O_DIRECTORY) return 'directory'
  return flags & O_RDWR ? 'r+' : 'r'
}

function openSync(name: unknown, flags: number | string = 'r', mode?: number): number {
  const path = plain(name)
  return at(`open ${nameOf(flags)}`, path, (run) => {
    checkScanner(run, path, 'open', flags)
    return run.world.disk.open(path, flags, mode)
  })
}

const closeSync = (file: number): void =>
  on('close', file, false, ({ world: { disk, kind } }) => {
    const { path, inode } = disk.opened(file)
    disk.close(file)
    if (kind.goesStale && path.endsWith('.unused') && disk.at(path) !== inode)
      throw systemError('ESTALE', 'close', path)
  })

const read = (file: number, length: number, place: number | null) =>
  on('read', file, true, ({ world: { disk } }) => disk.read(file, length, place))

function readSync(file: number, buffer: Buffer, offset = 0, length = buffer.length, place?: number | null) {
  const bytes = read(file, length, place ?? null)
  bytes.copy(buffer, offset)
  return bytes.length
}

function readFileSync(path: unknown, options?: string | { encoding?: string }): string | Buffer {
  const encoding = typeof options === 'object' ? options?.encoding : options
  const file = typeof path === 'number' ? path : openSync(path)
  try {
    const bytes = read(file, Number.MAX_SAFE_INTEGER, null)
    return encoding ? bytes.toString(encoding as BufferEncoding) : Buffer.from(bytes)
  } finally {
    if (typeof path !== 'number') closeSync(file)
  }
}

const write = (file: number, bytes: Buffer, place: number | null) =>
  on('write', file, true, ({ world: { disk } }) => disk.write(file, bytes, place))

function writeSync(file: number, data: string | Buffer, ...rest: (number | null | undefined)[]): number {
  if (typeof data === 'string') return write(file, Buffer.from(data), rest[0] ?? null)
  const [offset, length, place] = rest
  return write(
    file,
    Buffer.from(data.subarray(offset ?? 0).subarray(0, length ?? data.length)),
    place ?? null,
  )
}

function writeFileSync(
  path: unknown,
  data: string | Buffer,
  options?: string | { flag?: string; mode?: number; flush?: boolean },
) {
  const { flag = 'w', mode, flush } = typeof options === 'object' ? options : {}
  const file = typeof path === 'number' ? path : openSync(path, flag, mode)
  try {
    write(file, Buffer.from(data), null)
    if (flush) fsyncSync(file)
  } finally {
    if (typeof path !== 'number') closeSync(file)
  }
}

const ftruncateSync = (file: number, length = 0): void =>
  on('truncate', file, true, ({ world: { disk } }) => disk.truncate(file, length))

const fsyncSync = (file: number): void => on('flush', file, true, ({ world: { disk } }) => disk.flush(file))

function fsync(file: number, done: (error: unknown) => void): void {
  queueMicrotask(() => {
    try {
      fsyncSync(file)
    } catch (error) {
      done(error)
      return
    }
    done(null)
  })
}

const listed = (path: string) => at('list', path, ({ world: { disk } }) => disk.list(path, 'scandir'))

/** The directory itself may stay, but what is in it changes. */
const list = (path: string) =>
  LOTS.includes(path)
    ? step('list', path, true, ({ world: { disk } }) => disk.list(path, 'scandir'))
    : listed(path)

const readdirSync = (path: unknown) => [...list(plain(path))].sort()

function opendirSync(path: unknown) {
  const names = readdirSync(path)
  return {
    readSync: () => {
      const name = names.shift()
      return name === undefined ? null : { name }
    },
    closeSync() {},
  }
}

function mkdirSync(name: unknown, options?: number | { recursive?: boolean; mode?: number }) {
  const path = plain(name)
  const { recursive = false, mode = 0o777 } = typeof options === 'object' ? options : {}
  return at('mkdir', path, ({ world: { disk } }) => {
    if (recursive && disk.at(path)?.names !== undefined) return undefined
    disk.makeDirectory(path, mode)
    return path
  })
}

const rmdirSync = (path: unknown): void =>
  at('rmdir', plain(path), ({ world: { disk } }) => disk.removeDirectory(plain(path)))

const unlinkSync = (path: unknown): void =>
  at('unlink', plain(path), (run) => {
    const { world, call } = run
    const what = `unlink ${path}`
    checkScanner(run, plain(path), 'unlink')
    if (world.disk.at(plain(path)) === undefined && wonToo(run, what)) return
    world.disk.unlink(plain(path))
    world.moves.push({ what, call: call.id, at: world.steps })
  })

const renameSync = (from: unknown, to: unknown): void =>
  at(`rename to ${plain(to)}`, plain(from), (run) => {
    const { world, call } = run
    const what = `rename ${from} ${to}`
    checkScanner(run, plain(from), 'rename')
    checkScanner(run, plain(to), 'rename')
    if (world.disk.at(plain(from)) === undefined && wonToo(run, what)) return
    world.disk.rename(plain(from), plain(to))
    world.moves.push({ what, call: call.id, at: world.steps })
  })

const linkSync = (from: unknown, to: unknown): void =>
  at(`link to ${plain(to)}`, plain(from), ({ world: { disk, kind } }) => {
    if (kind.noLinks !== undefined) throw systemError(kind.noLinks, 'link', plain(to))
    disk.link(plain(from), plain(to))
  })

const chmodSync = (path: unknown, mode: number): void =>
  at('chmod', plain(path), ({ world: { disk } }) => {
    disk.find(plain(path), 'chmod').mode = mode
  })

const rmSync = (path: unknown, options?: { force?: boolean }) => {
  if (options?.force && !existsSync(path)) return
  unlinkSync(path)
}

/** What Linux calls FAT, ext4, and a file system that the program does not know. */
const typeOf = (kind: Kind | undefined) =>
  kind?.hasFatRules ? 0x4d44 : kind?.bringsNames ? 0x9123683e : kind?.hasJournal ? 0xef53 : 0

/** By their names in `node:fs`. */
export const files = {
  openSync,
  closeSync,
  readSync,
  readFileSync,
  writeSync,
  writeFileSync,
  ftruncateSync,
  fsyncSync,
  fsync,
  readdirSync,
  opendirSync,
  statSync,
  lstatSync: statSync,
  fstatSync,
  existsSync,
  mkdirSync,
  rmdirSync,
  unlinkSync,
  renameSync,
  linkSync,
  chmodSync,
  rmSync,
  statfsSync: (path: unknown) => ({
    type: typeOf(execution()?.world.kind),
    bavail: 1e6,
    blocks: 1e6,
    bsize: 4096,
    ffree: 1e6,
    files: 1e6,
    path,
  }),
  fstat(file: number, done: (error: unknown, status?: unknown) => void) {
    if (!isStandard(file)) throw new HarnessError('the scheduler has no fstat of a file')
    queueMicrotask(() => done(null))
  },
}
