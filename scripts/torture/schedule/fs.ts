/**
 * What stands for `node:fs` and `node:fs/promises` in the calls of a schedule: each function is a step on the disk of
 * the schedule.
 *
 * Other calls can't go on before these, because nobody else can see them or influence them: to close a file, to look at
 * an open file (only its type and its size limit matter), to look at or open the directory of profiles (it stays), to
 * ask for free space, and everything below /receipt.
 */
import * as real from 'node:fs'
import * as realPromises from 'node:fs/promises'
import { type Disk, systemError } from './disk.ts'
import { execution, HarnessError, step } from './engine.ts'
import { checkScanner, timeOf, wonToo } from './kinds.ts'
import { LOT, RECEIPTS } from './places.ts'

/** A file descriptor of standard input, output or error. */
const isStandard = (file: unknown) => typeof file === 'number' && file <= 2

const isSeen = (path: string) => path !== LOT && !path.startsWith(RECEIPTS)

const plain = (path: unknown) => {
  const text = String(path)
  return text.endsWith('/..') ? text.slice(0, text.lastIndexOf('/', text.length - 4)) || '/' : text
}

type Run = NonNullable<ReturnType<typeof execution>>

/** A step that belongs to a path. */
const at = <T>(name: string, path: string, action: (run: Run) => T) => step(name, path, isSeen(path), action)

/** A step with an open file. */
function on<T>(name: string, file: number, isPoint: boolean, action: (run: Run) => T): T {
  const run = execution()
  const path = run?.call.log.length === run?.at ? (run?.world.disk.files.get(file)?.path ?? '') : undefined
  const known = run?.call.log[run.at]?.path ?? path ?? ''
  return step(name, known, isPoint && !known.startsWith(RECEIPTS), action)
}

class Status {
  readonly size: number
  readonly mtimeMs: number
  readonly mode: number
  readonly ino: number
  readonly dev = 1
  readonly rdev = 0
  readonly nlink = 1
  readonly #isDirectory: boolean

  constructor(run: Run, inode: ReturnType<Disk['find']>) {
    this.size = inode.content.length
    this.mtimeMs = timeOf(run, inode)
    this.mode = inode.mode | (inode.names === undefined ? real.constants.S_IFREG : real.constants.S_IFDIR)
    this.ino = inode.id
    this.#isDirectory = inode.names !== undefined
    run.world.disk.touched.push(`<#${inode.id}`)
  }

  get mtime(): Date {
    return new Date(this.mtimeMs)
  }

  isFile = () => !this.#isDirectory
  isDirectory = () => this.#isDirectory
  isSymbolicLink = () => false
  isCharacterDevice = () => false
}

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

const existsSync = (path: unknown) => statSync(path, { throwIfNoEntry: false }) !== undefined

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
  options?: string | { flag?: string; mode?: number },
) {
  const { flag = 'w', mode } = typeof options === 'object' ? options : {}
  const file = typeof path === 'number' ? path : openSync(path, flag, mode)
  try {
    write(file, Buffer.from(data), null)
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
  path === LOT ? step('list', path, true, ({ world: { disk } }) => disk.list(path, 'scandir')) : listed(path)

const readdirSync = (path: unknown) => [...list(plain(path))].sort()

function opendirSync(path: unknown) {
  const names = [...list(plain(path))]
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

const utimesSync = (path: unknown, _accessed: unknown, modified: number | Date): void =>
  at('utimes', plain(path), ({ world: { disk } }) => {
    const inode = disk.find(plain(path), 'utimes')
    disk.touched.push(`>#${inode.id}`)
    inode.mtimeMs = typeof modified === 'number' ? modified * 1000 : modified.getTime()
  })

const futimesSync = (file: number, _accessed: unknown, modified: number | Date): void =>
  on('utimes', file, true, ({ world: { disk } }) => {
    const { inode } = disk.opened(file)
    disk.touched.push(`>#${inode.id}`)
    inode.mtimeMs = typeof modified === 'number' ? modified * 1000 : modified.getTime()
  })

function copyFileSync(from: unknown, to: unknown, mode = 0) {
  const bytes = readFileSync(from)
  writeFileSync(to, bytes, { flag: mode & real.constants.COPYFILE_EXCL ? 'wx' : 'w' })
}

const rmSync = (path: unknown, options?: { force?: boolean }) => {
  if (options?.force && !existsSync(path)) return
  unlinkSync(path)
}

const known = {
  openSync,
  closeSync,
  readSync,
  readFileSync,
  writeSync,
  writeFileSync,
  ftruncateSync,
  fsyncSync,
  fdatasyncSync: fsyncSync,
  fsync,
  fdatasync: fsync,
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
  utimesSync,
  lutimesSync: utimesSync,
  futimesSync,
  copyFileSync,
  rmSync,
  statfsSync: (path: unknown) => ({
    type: execution()?.world.kind.hasFatRules ? 0x4d44 : 0xef53,
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

/** Functions that no call has needed so far are refused. */
function refused(all: object): Record<string, unknown> {
  const entries = Object.entries(all).map(([name, value]) => {
    if (typeof value !== 'function' || /^[A-Z]/.test(name)) return [name, value]
    return [
      name,
      () => {
        throw execution()?.world.fail(`the scheduler has no ${name}`) ?? new HarnessError(name)
      },
    ]
  })
  return Object.fromEntries(entries)
}

const later =
  <A extends unknown[], T>(action: (...args: A) => T) =>
  async (...args: A): Promise<T> => {
    await null
    return action(...args)
  }

async function open(path: unknown, flags?: number | string, mode?: number) {
  await null
  const fd = openSync(path, flags, mode)
  return {
    fd,
    stat: later(() => fstatSync(fd)),
    readFile: later((options?: string) => readFileSync(fd, options)),
    writeFile: later((data: string | Buffer) => writeFileSync(fd, data)),
    truncate: later((length?: number) => ftruncateSync(fd, length)),
    sync: later(() => fsyncSync(fd)),
    datasync: later(() => fsyncSync(fd)),
    close: later(() => closeSync(fd)),
  }
}

const promised = Object.fromEntries(
  Object.entries(known)
    .filter(([name]) => name.endsWith('Sync'))
    .map(([name, action]) => [name.slice(0, -4), later(action as (...args: unknown[]) => unknown)]),
)

export const promises: Record<string, unknown> = { ...refused(realPromises), ...promised, open }

export const fs: Record<string, unknown> = {
  ...refused(real),
  ...known,
  constants: real.constants,
  promises,
}
