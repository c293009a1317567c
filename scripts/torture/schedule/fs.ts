/**
 * What stands for the module `node:fs` in the calls of a schedule: each function that the program uses is a step on its
 * disk, and there are no others.
 *
 * Other calls can't go on before these, because nobody else can see them or influence them: to close a file, to look at
 * an open file (only its type and its size limit matter), to look at or open a directory of profiles or one above it
 * (they stay), to ask for free space, and everything below /receipt.
 */
import * as realFs from 'node:fs'
import * as realPromises from 'node:fs/promises'
import { posix } from 'node:path'
import type { Kind } from './disk.ts'
import { execution, HarnessError, isPause, step } from './engine.ts'
import { flagsOf, type Inode, systemError } from './inode.ts'
import { LOTS, RECEIPTS, STAY } from './names.ts'

type Run = NonNullable<ReturnType<typeof execution>>

const { O_RDWR, O_WRONLY, O_DIRECTORY, S_IFREG, S_IFDIR } = realFs.constants

/** Without `..`: there are no links to directories. */
const plain = (path: unknown) => posix.normalize(String(path))

const isSeen = (path: string) => !STAY.includes(path) && !path.startsWith(RECEIPTS)

/** A step that belongs to a path. */
const at = <T>(name: string, path: string, action: (run: Run) => T) => step(name, path, isSeen(path), action)

/** A step with an open file. */
function on<T>(name: string, file: number, isPoint: boolean, action: (run: Run) => T): T {
  const run = execution()
  const path = run?.call.log.length === run?.at ? (run?.world.disk.files.get(file)?.path ?? '') : undefined
  const known = run?.call.log[run.at]?.path ?? path ?? ''
  return step(name, known, isPoint && !known.startsWith(RECEIPTS), action)
}

const VERIFIER_MS = Date.UTC(1983, 5, 1)
const SETATTR_MS = 500

/** The time of a file, as a call sees it. */
function timeOf({ world, call }: Run, inode: Inode): number {
  if (!world.kind.hasVerifiers || inode.creator === call.id) return inode.mtimeMs
  const creator = world.calls.find(({ id }) => id === inode.creator)
  const isNew = creator?.points === inode.createdAt && world.now - inode.mtimeMs < SETATTR_MS
  return isNew ? VERIFIER_MS : inode.mtimeMs
}

function statusOf(run: Run, inode: Inode) {
  run.world.disk.touched.push(`<#${inode.id}`)
  const mtimeMs = timeOf(run, inode)
  const isFile = inode.names === undefined
  return {
    ...{ size: inode.content.length, mtimeMs, mtime: new Date(mtimeMs), ino: inode.id },
    ...{ mode: inode.mode | (isFile ? S_IFREG : S_IFDIR), dev: 1, rdev: 0, nlink: 1 },
    isFile: () => isFile,
    isDirectory: () => !isFile,
    isSymbolicLink: () => false,
    isCharacterDevice: () => false,
  }
}

function statSync(name: unknown, options?: { throwIfNoEntry?: boolean }) {
  const path = plain(name)
  return at('stat', path, (run) => {
    const { disk } = run.world
    if (options?.throwIfNoEntry !== false) return statusOf(run, disk.find(path, 'lstat'))
    disk.touched.push(`<${path}`)
    const inode = disk.at(path)
    return inode && statusOf(run, inode)
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

const SCAN_MS = 60

/** @throws EBUSY while the scanner has the file */
function checkScanner({ world }: Run, path: string, syscall: string, flags: number | string = O_RDWR): void {
  const inode = world.disk.at(path)
  if (!world.kind.hasScanner || (flagsOf(flags) & (O_WRONLY | O_RDWR)) === 0) return
  if (inode === undefined || inode.names !== undefined) return
  if (world.now - inode.mtimeMs < SCAN_MS) throw systemError('EBUSY', syscall, path)
}

/** Renames or removes a file. Where two can win, another call may have done the same while this one was about to do it. */
function change(run: Run, what: string, path: string, action: () => void): void {
  const { world, call } = run
  const isLate = ({ what: other, call: id, at }: (typeof world.moves)[number]) =>
    other === what && id !== call.id && at > call.pausedAt
  const winsToo = world.kind.letsTwoWin && run.isResuming && world.moves.some(isLate)
  if (winsToo && world.disk.at(path) === undefined) return
  action()
  world.moves.push({ what, call: call.id, at: world.steps })
}

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

const write = (file: number, text: string | Buffer, place: number | null) =>
  on('write', file, true, ({ world: { disk } }) => disk.write(file, Buffer.from(text as string), place))

const fsyncSync = (file: number): void => on('flush', file, true, ({ world: { disk } }) => disk.flush(file))

/** The directory itself may stay, but what is in it changes. */
const readdirSync = (path: unknown) =>
  step('list', plain(path), LOTS.includes(plain(path)) || isSeen(plain(path)), ({ world: { disk } }) =>
    disk.list(plain(path), 'scandir'),
  ).toSorted()

/** What Linux calls FAT, btrfs, ext4, and a file system that the program does not know. */
const typeOf = (kind: Kind | undefined) =>
  kind?.hasFatRules ? 0x4d44 : kind?.bringsNames ? 0x9123683e : kind?.hasJournal ? 0xef53 : 0

/** By their names in `node:fs`. */
export const files = {
  openSync,
  closeSync,
  fsyncSync,
  readdirSync,
  existsSync,
  statSync,
  lstatSync: statSync,
  fstatSync: (file: number) =>
    on('fstat', file, false, (run) => statusOf(run, run.world.disk.opened(file).inode)),
  readSync: (file: number, buffer: Buffer, offset: number, length: number, place: number) =>
    read(file, length, place).copy(buffer, offset),
  readFileSync(path: unknown, encoding?: BufferEncoding): string | Buffer {
    const file = typeof path === 'number' ? path : openSync(path)
    try {
      const bytes = read(file, Number.MAX_SAFE_INTEGER, null)
      return encoding ? bytes.toString(encoding) : Buffer.from(bytes)
    } finally {
      if (file !== path) closeSync(file)
    }
  },
  writeSync: (file: number, text: string, place: number) => write(file, text, place),
  writeFileSync: (file: number, text: string | Buffer): void => void write(file, text, null),
  ftruncateSync: (file: number, length = 0): void =>
    on('truncate', file, true, ({ world: { disk } }) => disk.truncate(file, length)),
  fsync(file: number, done: (error: unknown) => void): void {
    queueMicrotask(() => {
      let failure: unknown = null
      try {
        fsyncSync(file)
      } catch (error) {
        failure = error
      }
      done(failure)
    })
  },
  opendirSync(path: unknown) {
    const names = readdirSync(path)
    return {
      readSync: () => {
        const name = names.shift()
        return name === undefined ? null : { name }
      },
      closeSync() {},
    }
  },
  mkdirSync: (path: unknown, { mode }: { mode: number }): void =>
    at('mkdir', plain(path), ({ world: { disk } }) => disk.makeDirectory(plain(path), mode)),
  rmdirSync: (path: unknown): void =>
    at('rmdir', plain(path), ({ world: { disk } }) => disk.removeDirectory(plain(path))),
  unlinkSync: (path: unknown): void =>
    at('unlink', plain(path), (run) => {
      checkScanner(run, plain(path), 'unlink')
      change(run, `unlink ${path}`, plain(path), () => run.world.disk.unlink(plain(path)))
    }),
  renameSync: (from: unknown, to: unknown): void =>
    at(`rename to ${plain(to)}`, plain(from), (run) => {
      checkScanner(run, plain(from), 'rename')
      checkScanner(run, plain(to), 'rename')
      const rename = () => run.world.disk.rename(plain(from), plain(to))
      change(run, `rename ${from} ${to}`, plain(from), rename)
    }),
  linkSync: (from: unknown, to: unknown): void =>
    at(`link to ${plain(to)}`, plain(from), ({ world: { disk, kind } }) => {
      if (kind.hasNoLinks) throw systemError('EPERM', 'link', plain(to))
      disk.link(plain(from), plain(to))
    }),
  chmodSync: (path: unknown, mode: number): void =>
    at('chmod', plain(path), ({ world: { disk } }) => {
      disk.find(plain(path), 'chmod').mode = mode
    }),
  statfsSync: () => ({
    ...{ type: typeOf(execution()?.world.kind), bsize: 4096 },
    ...{ bavail: 1e6, blocks: 1e6, ffree: 1e6, files: 1e6 },
  }),
}

/** Functions that no call has needed so far are refused. */
function refused(all: object): Record<string, unknown> {
  const refuse = (name: string) => () => {
    throw execution()?.world.fail(`the scheduler has no ${name}`) ?? new HarnessError(name)
  }
  const isRefused = (name: string, value: unknown) => typeof value === 'function' && !/^[A-Z]/.test(name)
  return Object.fromEntries(
    Object.entries(all).map(([name, value]) => [name, isRefused(name, value) ? refuse(name) : value]),
  )
}

export const promises = refused(realPromises)

export const fs = { ...refused(realFs), ...files, promises }
